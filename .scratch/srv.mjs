import { startServers } from '../bench/harness/servers.mjs';
const s=await startServers(); console.log(s.connect);
process.stdin.resume(); process.on('SIGTERM', async()=>{await s.stop();process.exit()});
