/**
 * The dependencies that are CommonJS. Imported by name, Node has each of them parsed for what it exports before it is run,
 * which at the start of a process takes as long as loading the rest of Conclave; here it parses only these lines.
 */
exports.EventEmitter = require('eventemitter3');
exports.jute = require('node-zookeeper-client/lib/jute/index.js');
