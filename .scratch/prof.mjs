import { EmbeddedZooKeeper } from 'conclave/testing';
import { ShardSupervisor } from 'conclave';
import inspector from 'node:inspector/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import fs from 'node:fs';
const ignore=()=>{}; const SILENT={debug:ignore,info:ignore,warn:ignore,error:ignore};
const connect=process.env.CONNECT;
const session = new inspector.Session(); session.connect();
for (let round=0; round<4; round++){
 const supervisor = new ShardSupervisor({ connect, path:'/p'+round+process.pid, shards:4096, session:{sessionTimeoutMs:12000, logger:SILENT, ...(process.env.STALL && {maxStallMs:30000})} });
 let owned=0; const all=new Promise(r=>supervisor.on('acquired',()=>++owned===4096&&r()));
 const last=round===3;
 if(last&&process.env.PROF){ await session.post('Profiler.enable'); await session.post('Profiler.setSamplingInterval',{interval:500}); await session.post('Profiler.start'); }
 const d=monitorEventLoopDelay({resolution:2}); d.enable(); const t=performance.now();
 await supervisor.start(); await all; const took=performance.now()-t; d.disable();
 console.log(round, Math.round(took), 'max', Math.round(d.max/1e6), 'p99', Math.round(d.percentile(99)/1e6));
 if(last&&process.env.PROF){ const {profile}=await session.post('Profiler.stop'); fs.writeFileSync('.scratch/p.cpuprofile',JSON.stringify(profile)); }
 await supervisor.stop();
}
process.exit();
