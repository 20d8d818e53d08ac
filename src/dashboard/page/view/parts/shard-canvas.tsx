import { memo } from 'preact/compat';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { GroupView } from '../../../api.js';
import { countText } from '../../model/format.js';
import { gridOf, shardAfterKey, shardAt } from '../../model/shard-grid.js';
import { useIsDark, usePage } from '../page-context.js';
import { ShardDrawing } from './shard-drawing.js';

export interface ShardCanvasProps {
  readonly group: GroupView;
  /** The greatest height of the grid, unless even the smallest cells need more. */
  readonly height: number;
  readonly mostPitch: number;
  /** A member whose shards stand out. */
  readonly member?: string | null;
  /** The chosen shard. With `choose` the visitor can choose one by pointer or keys. */
  readonly shard?: number | null;
  readonly choose?: (shard: number) => void;
}

/** The shards of a group as a grid, in the colors of their owners. Shards that move light up for a moment. */
export const ShardCanvas = memo((props: ShardCanvasProps) => {
  const { group, height, mostPitch, member = null, shard = null, choose } = props;
  const { slotsOf } = usePage();
  const isDark = useIsDark();
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const drawing = useRef<ShardDrawing>(undefined);
  const [width, setWidth] = useState(0);
  const count = group.shards.length;
  const grid = gridOf(count, width, height, mostPitch);
  useLayoutEffect(() => {
    const box = frame.current as HTMLDivElement;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(box);
    return () => {
      observer.disconnect();
      drawing.current?.stop();
    };
  }, []);
  useLayoutEffect(() => {
    if (width === 0) return;
    drawing.current ??= new ShardDrawing(canvas.current as HTMLCanvasElement);
    drawing.current.draw({ group, grid, slots: slotsOf(group), isDark, member, shard });
  });
  const label = `${countText(count, 'shard')} of ${countText(group.members.length, 'member')}`;
  if (choose === undefined)
    return (
      <div class="shards" ref={frame}>
        <canvas ref={canvas} role="img" aria-label={label} />
      </div>
    );
  const onKeyDown = (event: KeyboardEvent) => {
    const next = shardAfterKey(event.key, shard ?? 0, count, grid);
    if (next === null) return;
    event.preventDefault();
    choose(next);
  };
  const onClick = (event: MouseEvent) => {
    const at = shardAt(grid, count, event.offsetX, event.offsetY);
    if (at !== null) choose(at);
  };
  return (
    <div class="shards" ref={frame}>
      <canvas
        ref={canvas}
        // A slider has one value, here the shard's number. The arrow keys change it, and a screen reader reads it aloud.
        role="slider"
        tabIndex={0}
        aria-label={`${label}: choose a shard with the arrow keys`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, count - 1)}
        aria-valuenow={shard ?? 0}
        aria-valuetext={shard === null ? 'none' : (group.shards[shard] ?? '')}
        onKeyDown={onKeyDown}
        onClick={onClick}
      />
    </div>
  );
});
