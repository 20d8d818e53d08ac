/// <reference path="./session/jute.d.ts" />

export { EventEmitter } from 'eventemitter3';
export declare const jute: typeof import('node-zookeeper-client/lib/jute/index.js').default;
