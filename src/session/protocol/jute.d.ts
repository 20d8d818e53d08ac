/**
 * The part of node-zookeeper-client 1.1.3's codec that `requests.ts` uses, taken from its source. 64-bit fields are 8-byte
 * Buffers, an absent buffer or string is `undefined`, and a record's fields are set after its creation.
 * (`@types/node-zookeeper-client` describes the client's interface and not the codec, and has mistakes.)
 */
declare module 'node-zookeeper-client/lib/jute/index.js' {
  interface Codec {
    serialize(buffer: Buffer, offset: number): number;
    deserialize(buffer: Buffer, offset: number): number;
  }
  const jute: {
    OP_CODES: { AUTH: 100 };
    PROTOCOL_VERSION: number;
    Request: new (header: Codec | null, payload: unknown) => { toBuffer(): Buffer };
    protocol: {
      ConnectResponse: new () => Codec & { timeOut: number; sessionId: Buffer; passwd: Buffer | undefined };
      RequestHeader: new (xid: number, type: number) => Codec;
      AuthPacket: new (type: number, scheme: string, auth: Buffer) => Codec;
      SetWatches: new (zxid: Buffer, data: string[], exist: string[], child: string[]) => Codec;
    };
  };
  export default jute;
}
