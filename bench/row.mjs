/** One row of the benchmark: `npm run build && node bench/row.mjs memory [--quick]`. The rows are the files of `bench/rows`. */
import { parseArgs } from 'node:util';
import { isMet } from './harness/finding.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
// What was started is ended at the exit: of a signal alone it isn't told.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
const { default: row } = await import(`./rows/${positionals[0]}.mjs`);
const began = performance.now();
/** @type {import('./harness/finding.mjs').Finding} */
const finding = await row({
  quick: values.quick,
  rounds: values.quick ? 2 : 5,
  say: (/** @type {string} */ text) => console.error(text),
});
if (values.json) console.log(JSON.stringify(finding));
else {
  console.log(`${finding.title}\n`);
  for (const cells of [finding.columns, finding.columns.map(() => '---'), ...finding.table])
    console.log(`| ${cells.join(' | ')} |`);
  console.log('');
  for (const bar of finding.bars)
    console.log(
      `${isMet(bar) ? 'met   ' : 'MISSED'} ${bar.what}: ${bar.measured} ${bar.unit ?? ''} (bar ${bar.atLeast ? '≥' : '≤'} ${bar.bar})`,
    );
  for (const note of finding.notes) console.log(`- ${note}`);
  console.log(`\n${((performance.now() - began) / 1000).toFixed(0)} s`);
}
