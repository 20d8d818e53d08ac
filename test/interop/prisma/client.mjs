// @ts-nocheck
// biome-ignore-all format: generated code
// biome-ignore-all lint: generated code
/**
 * The client of schema.prisma: what `prisma generate` of Prisma 7.10.0 writes into internal/class.ts, without the types. The tests need no
 * Prisma CLI for it, which would install 130 packages of 230 MB. To generate it again, with the same version as @prisma/client:
 *
 *     PRISMA_SCHEMA_ENGINE_BINARY=/usr/bin/true npx prisma@7.10.0 generate --schema test/interop/prisma/schema.prisma
 *
 * The variable keeps the CLI from downloading an engine, which it doesn't use for this.
 */
import * as runtime from '@prisma/client/runtime/client';

const config = {
  "previewFeatures": [],
  "clientVersion": "7.10.0",
  "engineVersion": "0edf323efd1d98336f3f0a68684b56f689b900d3",
  "activeProvider": "postgresql",
  "inlineSchema": "generator client {\n  provider            = \"prisma-client\"\n  output              = \"./generated\"\n  importFileExtension = \"js\"\n}\n\ndatasource db {\n  provider = \"postgresql\"\n}\n\nmodel Balance {\n  id    String @id\n  value Int\n}\n\nmodel Fence {\n  resource String @id\n  token    BigInt\n\n  @@map(\"conclave_fence\")\n}\n",
  "runtimeDataModel": {
    "models": {},
    "enums": {},
    "types": {}
  },
  "parameterizationSchema": {
    "strings": [],
    "graph": ""
  }
}

config.runtimeDataModel = JSON.parse("{\"models\":{\"Balance\":{\"fields\":[{\"name\":\"id\",\"kind\":\"scalar\",\"type\":\"String\"},{\"name\":\"value\",\"kind\":\"scalar\",\"type\":\"Int\"}],\"dbName\":null,\"schema\":null},\"Fence\":{\"fields\":[{\"name\":\"resource\",\"kind\":\"scalar\",\"type\":\"String\"},{\"name\":\"token\",\"kind\":\"scalar\",\"type\":\"BigInt\"}],\"dbName\":\"conclave_fence\",\"schema\":null}},\"enums\":{},\"types\":{}}")
config.parameterizationSchema = {
  strings: JSON.parse("[\"where\",\"Balance.findUnique\",\"Balance.findUniqueOrThrow\",\"orderBy\",\"cursor\",\"Balance.findFirst\",\"Balance.findFirstOrThrow\",\"Balance.findMany\",\"data\",\"Balance.createOne\",\"Balance.createMany\",\"Balance.createManyAndReturn\",\"Balance.updateOne\",\"Balance.updateMany\",\"Balance.updateManyAndReturn\",\"create\",\"update\",\"Balance.upsertOne\",\"Balance.deleteOne\",\"Balance.deleteMany\",\"having\",\"_count\",\"_avg\",\"_sum\",\"_min\",\"_max\",\"Balance.groupBy\",\"Balance.aggregate\",\"Fence.findUnique\",\"Fence.findUniqueOrThrow\",\"Fence.findFirst\",\"Fence.findFirstOrThrow\",\"Fence.findMany\",\"Fence.createOne\",\"Fence.createMany\",\"Fence.createManyAndReturn\",\"Fence.updateOne\",\"Fence.updateMany\",\"Fence.updateManyAndReturn\",\"Fence.upsertOne\",\"Fence.deleteOne\",\"Fence.deleteMany\",\"Fence.groupBy\",\"Fence.aggregate\",\"AND\",\"OR\",\"NOT\",\"resource\",\"token\",\"equals\",\"in\",\"notIn\",\"lt\",\"lte\",\"gt\",\"gte\",\"not\",\"contains\",\"startsWith\",\"endsWith\",\"id\",\"value\",\"set\",\"increment\",\"decrement\",\"multiply\",\"divide\"]"),
  graph: "UBUgBSwAAEIAMC0AAAQAEC4AAEIAMDwBAAAAAT0CAEMAIQEAAAABACABAAAAAQAgBSwAAEIAMC0AAAQAEC4AAEIAMDwBAD0AIT0CAEMAIQADAAAABAAgAwAABQAwBAAAAQAgAwAAAAQAIAMAAAUAMAQAAAEAIAMAAAAEACADAAAFADAEAAABACACPAEAAAABPQIAAAABAQgAAAkAIAI8AQAAAAE9AgAAAAEBCAAACwAwAQgAAAsAMAI8AQBJACE9AgBQACECAAAAAQAgCAAADgAgAjwBAEkAIT0CAFAAIQIAAAAEACAIAAAQACACAAAABAAgCAAAEAAgAwAAAAEAIA8AAAkAIBAAAA4AIAEAAAABACABAAAABAAgBRUAAEsAIBYAAEwAIBcAAE8AIBgAAE4AIBkAAE0AIAUsAAA_ADAtAAAXABAuAAA_ADA8AQA0ACE9AgBAACEDAAAABAAgAwAAFgAwFAAAFwAgAwAAAAQAIAMAAAUAMAQAAAEAIAUsAAA8ADAtAAAdABAuAAA8ADAvAQAAAAEwBAA-ACEBAAAAGgAgAQAAABoAIAUsAAA8ADAtAAAdABAuAAA8ADAvAQA9ACEwBAA-ACEAAwAAAB0AIAMAAB4AMAQAABoAIAMAAAAdACADAAAeADAEAAAaACADAAAAHQAgAwAAHgAwBAAAGgAgAi8BAAAAATAEAAAAAQEIAAAiACACLwEAAAABMAQAAAABAQgAACQAMAEIAAAkADACLwEASQAhMAQASgAhAgAAABoAIAgAACcAIAIvAQBJACEwBABKACECAAAAHQAgCAAAKQAgAgAAAB0AIAgAACkAIAMAAAAaACAPAAAiACAQAAAnACABAAAAGgAgAQAAAB0AIAUVAABEACAWAABFACAXAABIACAYAABHACAZAABGACAFLAAAMwAwLQAAMAAQLgAAMwAwLwEANAAhMAQANQAhAwAAAB0AIAMAAC8AMBQAADAAIAMAAAAdACADAAAeADAEAAAaACAFLAAAMwAwLQAAMAAQLgAAMwAwLwEANAAhMAQANQAhDhUAADcAIBgAADsAIBkAADsAIDEBAAAAATIBAAAABDMBAAAABDQBAAAAATUBAAAAATYBAAAAATcBAAAAATgBADoAITkBAAAAAToBAAAAATsBAAAAAQ0VAAA3ACAWAAA4ACAXAAA5ACAYAAA5ACAZAAA5ACAxBAAAAAEyBAAAAAQzBAAAAAQ0BAAAAAE1BAAAAAE2BAAAAAE3BAAAAAE4BAA2ACENFQAANwAgFgAAOAAgFwAAOQAgGAAAOQAgGQAAOQAgMQQAAAABMgQAAAAEMwQAAAAENAQAAAABNQQAAAABNgQAAAABNwQAAAABOAQANgAhCDECAAAAATICAAAABDMCAAAABDQCAAAAATUCAAAAATYCAAAAATcCAAAAATgCADcAIQgxCAAAAAEyCAAAAAQzCAAAAAQ0CAAAAAE1CAAAAAE2CAAAAAE3CAAAAAE4CAA4ACEIMQQAAAABMgQAAAAEMwQAAAAENAQAAAABNQQAAAABNgQAAAABNwQAAAABOAQAOQAhDhUAADcAIBgAADsAIBkAADsAIDEBAAAAATIBAAAABDMBAAAABDQBAAAAATUBAAAAATYBAAAAATcBAAAAATgBADoAITkBAAAAAToBAAAAATsBAAAAAQsxAQAAAAEyAQAAAAQzAQAAAAQ0AQAAAAE1AQAAAAE2AQAAAAE3AQAAAAE4AQA7ACE5AQAAAAE6AQAAAAE7AQAAAAEFLAAAPAAwLQAAHQAQLgAAPAAwLwEAPQAhMAQAPgAhCzEBAAAAATIBAAAABDMBAAAABDQBAAAAATUBAAAAATYBAAAAATcBAAAAATgBADsAITkBAAAAAToBAAAAATsBAAAAAQgxBAAAAAEyBAAAAAQzBAAAAAQ0BAAAAAE1BAAAAAE2BAAAAAE3BAAAAAE4BAA5ACEFLAAAPwAwLQAAFwAQLgAAPwAwPAEANAAhPQIAQAAhDRUAADcAIBYAADgAIBcAADcAIBgAADcAIBkAADcAIDECAAAAATICAAAABDMCAAAABDQCAAAAATUCAAAAATYCAAAAATcCAAAAATgCAEEAIQ0VAAA3ACAWAAA4ACAXAAA3ACAYAAA3ACAZAAA3ACAxAgAAAAEyAgAAAAQzAgAAAAQ0AgAAAAE1AgAAAAE2AgAAAAE3AgAAAAE4AgBBACEFLAAAQgAwLQAABAAQLgAAQgAwPAEAPQAhPQIAQwAhCDECAAAAATICAAAABDMCAAAABDQCAAAAATUCAAAAATYCAAAAATcCAAAAATgCADcAIQAAAAAAAT4BAAAAAQU-BAAAAAE_BAAAAAFABAAAAAFBBAAAAAFCBAAAAAEAAAAAAAU-AgAAAAE_AgAAAAFAAgAAAAFBAgAAAAFCAgAAAAEAAAAABRUABhYABxcACBgACRkACgAAAAAABRUABhYABxcACBgACRkACgAAAAUVABAWABEXABIYABMZABQAAAAAAAUVABAWABEXABIYABMZABQBAgECAwEFBgEGBwEHCAEJCgEKDAILDQMMDwENEQIOEgQREwESFAETFQIaGAUbGQscGwwdHAweHwwfIAwgIQwhIwwiJQIjJg0kKAwlKgImKw4nLAwoLQwpLgIqMQ8rMhU"
}

async function decodeBase64AsWasm(wasmBase64) {
  const { Buffer } = await import('node:buffer')
  const wasmArray = Buffer.from(wasmBase64, 'base64')
  return new WebAssembly.Module(wasmArray)
}

config.compilerWasm = {
  getRuntime: async () => await import("@prisma/client/runtime/query_compiler_fast_bg.postgresql.mjs"),

  getQueryCompilerWasmModule: async () => {
    const { wasm } = await import("@prisma/client/runtime/query_compiler_fast_bg.postgresql.wasm-base64.mjs")
    return await decodeBase64AsWasm(wasm)
  },

  importName: "./query_compiler_fast_bg.js"
}

/** @type {new (options: object) => any} */
export const PrismaClient = runtime.getPrismaClient(config);
