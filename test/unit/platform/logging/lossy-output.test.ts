import { EventEmitter } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LossyOutput } from '../../../../src/platform/logging/lossy-output.js';

const FULL = new Error('ENOSPC: no space left on device');

/** A stream that takes lines or fails, as it is told. It emits an error after each write that fails, as Node's streams do. */
class FakeStream extends EventEmitter {
  readonly taken: string[] = [];
  writableLength = 0;
  fault: Error | undefined;

  write(text: string, written: (error?: Error) => void): boolean {
    const { fault } = this;
    if (fault === undefined) this.taken.push(text);
    written(fault);
    if (fault !== undefined) this.emit('error', fault); // Throws if there is no listener.
    return true;
  }
}

const outputTo = (stream: FakeStream) =>
  new LossyOutput(
    () => stream,
    (lost) => `${lost} lost\n`,
  );

describe('an output whose stream fails', () => {
  it('drops lines, and never throws, however many writes fail (the second one ended the process)', () => {
    const stream = new FakeStream();
    const output = outputTo(stream);
    stream.fault = FULL;
    for (let line = 0; line < 3; line++) expect(() => output.write('a line\n')).not.toThrow();
    expect(stream.taken).toEqual([]);
  });

  it('never throws when the stream does, or can not be opened', () => {
    const cannotOpen = () => {
      throw new Error('EIO');
    };
    expect(() => new LossyOutput(cannotOpen, String).write('a line\n')).not.toThrow();
    const throwing = Object.assign(new FakeStream(), { write: cannotOpen });
    expect(() => outputTo(throwing).write('a line\n')).not.toThrow();
  });

  it('leaves errors to the listeners that there are, and leaves no listener behind', () => {
    const stream = new FakeStream();
    const heard: unknown[] = [];
    stream.fault = FULL;
    outputTo(stream).write('a line\n');
    expect(stream.listenerCount('error')).toBe(0);
    stream.on('error', (error) => heard.push(error));
    outputTo(stream).write('a line\n');
    expect(heard).toEqual([FULL]);
    expect(stream.listenerCount('error')).toBe(1);
  });

  it('never throws beside a pipe into the stream, as every worker thread has one (it emitted the error again)', () => {
    const stream = new FakeStream();
    stream.once('error', (error) => {
      if (stream.listenerCount('error') === 0) stream.emit('error', error);
    });
    stream.fault = FULL;
    const output = outputTo(stream);
    for (let line = 0; line < 3; line++) output.write('a line\n');
    expect(stream.listenerCount('error')).toBe(0);
    stream.fault = undefined;
    output.write('the last line\n');
    expect(stream.taken).toEqual(['the last line\n', '3 lost\n']);
  });

  it('says once, when it works again, how many lines were lost: each line is taken, or counted', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean()), (works) => {
        const stream = new FakeStream();
        const output = outputTo(stream);
        for (const [index, isWorking] of works.entries()) {
          stream.fault = isWorking ? undefined : FULL;
          output.write(`line ${index}\n`);
        }
        stream.fault = undefined;
        output.write('the last line\n');
        const counts = stream.taken.flatMap((text) => /^(\d+) lost/.exec(text)?.[1] ?? []).map(Number);
        const lost = works.filter((each) => !each).length;
        expect(counts.every((count) => count > 0)).toBe(true);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(lost);
        expect(stream.taken.length - counts.length).toBe(works.length - lost + 1);
      }),
    );
  });

  it('counts on if the note is lost too', () => {
    const stream = new FakeStream();
    const output = new LossyOutput(
      () => stream,
      (lost) => {
        if (lost === 2) stream.fault = FULL; // The device is full again after one line.
        return `${lost} lost\n`;
      },
    );
    stream.fault = FULL;
    for (let line = 0; line < 2; line++) output.write('a line\n');
    stream.fault = undefined;
    output.write('one line\n');
    output.write('a line\n');
    stream.fault = undefined;
    output.write('the last line\n');
    expect(stream.taken).toEqual(['one line\n', 'the last line\n', '3 lost\n']);
  });

  it('keeps no more than a mebibyte for a reader that has stopped', () => {
    const stream = new FakeStream();
    const output = outputTo(stream);
    stream.writableLength = 1_048_577;
    output.write('a line\n');
    expect(stream.taken).toEqual([]);
    stream.writableLength = 0;
    output.write('the next line\n');
    expect(stream.taken).toEqual(['the next line\n', '1 lost\n']);
  });
});
