/** Keeps a processor busy until its parent disconnects. */
const SLICE_MS = 20;

function spin() {
  const until = performance.now() + SLICE_MS;
  while (performance.now() < until);
  // The process notices only between slices that its parent is gone.
  setImmediate(spin);
}

process.on('disconnect', () => process.exit());
spin();
