import { memo } from 'preact/compat';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { GroupView } from '../../../api-types.js';
import { countText } from '../../model/display-text.js';
import { type MemberStyle, memberStyle } from '../../model/member-colors.js';
import { gridOf, type ShardGrid, shardAfterKey, shardAt } from '../../model/shard-grid.js';
import { useChanges, usePage } from '../page-context.js';

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
  const { store, scheme } = usePage();
  useChanges(scheme.changes);
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
    const { isDark } = scheme;
    const slots = store.slotsOf(group.path);
    const styles = group.members.map(({ id }) => memberStyle(slots.get(id) ?? 0, isDark));
    drawing.current.draw({ group, grid, styles, isDark, member, shard });
  });
  const label = `${countText(count, 'shard')} of ${countText(group.members.length, 'member')}`;
  const onKeyDown = (event: KeyboardEvent) => {
    const next = shardAfterKey(event.key, shard ?? 0, count, grid);
    if (next === null) return;
    event.preventDefault();
    choose?.(next);
  };
  const onClick = (event: MouseEvent) => {
    const at = shardAt(grid, count, event.offsetX, event.offsetY);
    if (at !== null) choose?.(at);
  };
  // A slider has one value, here the shard's number. The arrow keys change it, and a screen reader reads it aloud.
  const slider = {
    role: 'slider',
    tabIndex: 0,
    'aria-label': `${label}: choose a shard with the arrow keys`,
    'aria-valuemin': 0,
    'aria-valuemax': Math.max(0, count - 1),
    'aria-valuenow': shard ?? 0,
    'aria-valuetext': shard === null ? 'none' : (group.shards[shard] ?? ''),
    onKeyDown,
    onClick,
  } as const;
  return (
    <div class="shards" ref={frame}>
      <canvas ref={canvas} {...(choose === undefined ? { role: 'img', 'aria-label': label } : slider)} />
    </div>
  );
});

const FLASH_MS = 1_400;

interface Drawn {
  readonly group: GroupView;
  readonly grid: ShardGrid;
  /** By the members' indices. */
  readonly styles: readonly MemberStyle[];
  readonly isDark: boolean;
  readonly member: string | null;
  readonly shard: number | null;
}

/** Draws a group on a canvas. */
class ShardDrawing {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  #drawn: Drawn | undefined;
  /** The shards that have moved, and until when each lights up. */
  readonly #flashes = new Map<number, number>();
  #frame: number | undefined;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d') as CanvasRenderingContext2D;
  }

  draw(next: Drawn): void {
    if (this.#drawn !== undefined) this.#flash(this.#drawn.group, next.group);
    this.#drawn = next;
    const { group, grid } = next;
    const canvas = this.#canvas;
    canvas.width = grid.width * devicePixelRatio;
    canvas.height = grid.height * devicePixelRatio;
    canvas.style.width = `${grid.width}px`;
    canvas.style.height = `${grid.height}px`;
    this.#context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    for (const shard of group.shards.keys()) this.#drawCell(shard);
  }

  stop(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    this.#flashes.clear();
  }

  /** Lights up the shards with a new owner, and lets them fade. */
  #flash(former: GroupView, group: GroupView): void {
    if (former.owners === group.owners || former.shards !== group.shards) return;
    const ownerIn = ({ owners, members }: GroupView, shard: number) =>
      members[owners[shard] ?? -1]?.node ?? null;
    const until = performance.now() + FLASH_MS;
    for (let shard = 0; shard < group.shards.length; shard += 1)
      if (ownerIn(former, shard) !== ownerIn(group, shard)) this.#flashes.set(shard, until);
    if (this.#flashes.size > 0) this.#frame ??= requestAnimationFrame(() => this.#fade());
  }

  #fade(): void {
    const now = performance.now();
    for (const [shard, until] of this.#flashes) {
      if (until <= now) this.#flashes.delete(shard);
      this.#drawCell(shard, now);
    }
    this.#frame = this.#flashes.size > 0 ? requestAnimationFrame(() => this.#fade()) : undefined;
  }

  #drawCell(shard: number, now = performance.now()): void {
    const drawn = this.#drawn;
    if (drawn === undefined || shard >= drawn.group.shards.length) return;
    const { group, grid, styles, isDark, member } = drawn;
    const context = this.#context;
    const { columns, pitch, side } = grid;
    const x = (shard % columns) * pitch;
    const y = Math.floor(shard / columns) * pitch;
    const owner = group.owners[shard] ?? -1;
    context.clearRect(x, y, pitch, pitch);
    const style = styles[owner];
    if (style === undefined) this.#drawUnowned(x, y, side, isDark);
    else {
      context.globalAlpha = member !== null && group.members[owner]?.id !== member ? 0.15 : 1;
      this.#drawOwned(x, y, side, style, isDark);
      context.globalAlpha = 1;
    }
    const left = ((this.#flashes.get(shard) ?? 0) - now) / FLASH_MS;
    if (left > 0) {
      context.fillStyle = isDark ? '#ffffff' : '#10131a';
      context.globalAlpha = Math.min(1, left) * 0.85;
      context.fillRect(x, y, side, side);
      context.globalAlpha = 1;
    }
    if (drawn.shard === shard) {
      context.strokeStyle = isDark ? '#ffffff' : '#10131a';
      context.lineWidth = pitch >= 10 ? 2 : 1.5;
      context.strokeRect(x + 0.75, y + 0.75, side - 1.5, side - 1.5);
    }
  }

  #drawOwned(x: number, y: number, side: number, { color, mark }: MemberStyle, isDark: boolean): void {
    const context = this.#context;
    context.fillStyle = color;
    context.fillRect(x, y, side, side);
    const inner = side * mark;
    context.fillStyle = isDark ? '#161a22' : '#ffffff';
    context.fillRect(x + (side - inner) / 2, y + (side - inner) / 2, inner, inner);
  }

  /** A red cross in an empty box. The shape says without the color that the shard has no owner. */
  #drawUnowned(x: number, y: number, side: number, isDark: boolean): void {
    const context = this.#context;
    context.strokeStyle = isDark ? '#ff7079' : '#c8102e';
    context.lineWidth = side >= 10 ? 2 : 1;
    context.beginPath();
    context.moveTo(x + 1, y + 1);
    context.lineTo(x + side - 1, y + side - 1);
    context.moveTo(x + side - 1, y + 1);
    context.lineTo(x + 1, y + side - 1);
    context.stroke();
  }
}
