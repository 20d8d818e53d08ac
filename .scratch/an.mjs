import fs from 'node:fs';
const p=JSON.parse(fs.readFileSync('.scratch/p.cpuprofile'));
const by=new Map(p.nodes.map(n=>[n.id,n])); for(const n of p.nodes) for(const c of n.children??[]) by.get(c).parent=n;
let t=p.startTime; let run=[]; const runs=[];
for(let i=0;i<p.samples.length;i++){ const d=p.timeDeltas[i]; t+=d; const n=by.get(p.samples[i]); 
 // root-level function
 let top=n, chain=[]; while(top.parent){chain.push(top); top=top.parent;}
 const name=n.callFrame.functionName;
 if(name==='(idle)'||name==='(program)'){ if(run.length) runs.push(run); run=[]; } else run.push([d,chain]); }
runs.push(run);
const len=r=>r.reduce((s,[d])=>s+d,0)/1000;
for(const r of runs.sort((a,b)=>len(b)-len(a)).slice(0,4)){ console.log('RUN',len(r).toFixed(1),'ms'); const m=new Map();
 for(const [d,c] of r){ const seen=new Set(); for(const n of c){ const k=n.callFrame.functionName+' '+n.callFrame.url.split('/').slice(-2).join('/'); if(seen.has(k))continue; seen.add(k); m.set(k,(m.get(k)??0)+d/1000);} }
 for(const [k,v] of [...m].sort((a,b)=>b[1]-a[1]).slice(0,28)) console.log('  ',v.toFixed(1),k);
}
