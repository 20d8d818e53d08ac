import type { Elected, Entry, Shown } from '../history.js';

/** A version of a record, and the transaction that wrote it. */
interface Version {
  readonly node: string;
  readonly version: number;
  readonly zxid: bigint;
}

/**
 * Finds terms whose claim ZooKeeper committed and then took back, by the versions of the records that its servers have shown. Servers make
 * each version of a node once, and in order. If they show a version, and with a later transaction the same version or a lower one, they have
 * taken back what they had shown first. No client can cause that, or keep its promises then.
 */
export class RecordVersions {
  readonly #shown = new Map<string, Version[]>();
  readonly #versionOf = new Map<string, number>();
  #count = 0;

  /** How many versions the servers have shown, each as often as there are processes that it was shown to. */
  get count(): number {
    return this.#count;
  }

  see(entry: Entry): void {
    if (entry.kind === 'shown') this.#show(entry);
    if (entry.kind === 'elected') this.#versionOf.set(keyOf(entry), entry.version);
  }

  #show({ journal, node, version, zxid }: Shown): void {
    this.#count++;
    const shown = this.#shown.get(journal) ?? [];
    shown.push({ node, version, zxid: BigInt(zxid) });
    this.#shown.set(journal, shown);
  }

  /** Whether the servers have taken back the version of the record that gave this term. Call it after the last entry. */
  tookBack(term: { readonly journal: string; readonly token: bigint }): boolean {
    const version = this.#versionOf.get(keyOf(term));
    const shown = this.#shown.get(term.journal) ?? [];
    const its = shown.filter((each) => each.version === version);
    return its
      .filter(({ zxid }) => zxid === term.token)
      .some(({ node, zxid }) =>
        shown.some((later) => later.node === node && later.zxid > zxid && later.version <= Number(version)),
      );
  }
}

function keyOf({ journal, token }: Pick<Elected, 'journal'> & { readonly token: string | bigint }): string {
  return `${journal} ${token}`;
}
