/**
 * What `protocol.ts` uses of node-zookeeper-client 1.1.3's codec, read off its source: 64-bit fields are 8-byte
 * Buffers, an absent buffer or string is `undefined`, and a record's fields are set after it is made.
 * (`@types/node-zookeeper-client` describes the client's surface, not the codec, and is wrong in places.)
 */
declare module 'node-zookeeper-client/lib/jute/index.js' {
  interface Codec {
    serialize(buffer: Buffer, offset: number): number;
    deserialize(buffer: Buffer, offset: number): number;
  }
  interface StatRecord extends Codec {
    czxid: Buffer;
    mzxid: Buffer;
    ctime: Buffer;
    mtime: Buffer;
    version: number;
    cversion: number;
    aversion: number;
    ephemeralOwner: Buffer;
    dataLength: number;
    numChildren: number;
    pzxid: Buffer;
  }
  interface AclRecord extends Codec {
    perms: number;
    id: { scheme: string; id: string };
  }
  type TransactionOperation =
    | { type: 1; path: string; data: Buffer; acls: { toRecord(): AclRecord }[]; mode: number }
    | { type: 2 | 13; path: string; version: number }
    | { type: 5; path: string; data: Buffer; version: number };
  interface TransactionResult {
    type: number;
    path?: string;
    stat?: StatRecord;
    err?: number;
  }

  const jute: {
    OP_CODES: {
      CREATE: 1;
      DELETE: 2;
      EXISTS: 3;
      GET_DATA: 4;
      SET_DATA: 5;
      GET_ACL: 6;
      PING: 11;
      GET_CHILDREN2: 12;
      CHECK: 13;
      MULTI: 14;
      AUTH: 100;
      SET_WATCHES: 101;
      CLOSE_SESSION: -11;
      ERROR: -1;
    };
    PROTOCOL_VERSION: number;
    XID_NOTIFICATION: number;
    XID_PING: number;
    XID_AUTHENTICATION: number;
    Request: new (header: Codec | null, payload: unknown) => { toBuffer(): Buffer };
    TransactionRequest: new (operations: TransactionOperation[]) => unknown;
    TransactionResponse: new () => {
      results: TransactionResult[];
      deserialize(buffer: Buffer, offset: number): number;
    };
    data: {
      Id: new (scheme: string, id: string) => Codec;
      ACL: new (permissions: number, id: Codec) => AclRecord;
    };
    protocol: {
      ConnectRequest: new (
        version: number,
        lastZxid: Buffer,
        timeoutMs: number,
        id: Buffer,
        password: Buffer,
      ) => Codec;
      ConnectResponse: new () => Codec & { timeOut: number; sessionId: Buffer; passwd: Buffer };
      RequestHeader: new (xid: number, type: number) => Codec;
      ReplyHeader: new () => Codec & { xid: number; zxid: Buffer; err: number };
      AuthPacket: new (type: number, scheme: string, auth: Buffer) => Codec;
      CreateRequest: new (path: string, data: Buffer, acl: AclRecord[], flags: number) => Codec;
      CreateResponse: new () => Codec & { path: string };
      DeleteRequest: new (path: string, version: number) => Codec;
      GetChildren2Request: new (path: string, watch: boolean) => Codec;
      GetChildren2Response: new () => Codec & { children?: string[] };
      ExistsRequest: new (path: string, watch: boolean) => Codec;
      ExistsResponse: new () => Codec & { stat: StatRecord };
      GetDataRequest: new (path: string, watch: boolean) => Codec;
      GetDataResponse: new () => Codec & { data?: Buffer; stat: StatRecord };
      GetACLRequest: new (path: string) => Codec;
      GetACLResponse: new () => Codec & { acl?: AclRecord[] };
      SetDataRequest: new (path: string, data: Buffer, version: number) => Codec;
      SetDataResponse: new () => Codec & { stat: StatRecord };
      SetWatches: new (zxid: Buffer, data: string[], exist: string[], child: string[]) => Codec;
      WatcherEvent: new () => Codec & { type: number; path: string };
    };
  };
  export default jute;
}
