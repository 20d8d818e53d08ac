import { Injectable } from '@nestjs/common';
import { currentTerm } from 'conclave';
import { LeaderOnly } from 'conclave/nestjs';

@Injectable()
export class ReportsService {
  readonly written: { name: string; token: bigint }[] = [];

  /** Every replica calls it; only the leader writes. */
  @LeaderOnly()
  async write(name: string): Promise<string | undefined> {
    const term = currentTerm();
    const report = await this.render(name);
    term.assertHeld(); // Right before the write.
    this.written.push({ name, token: term.token });
    return report;
  }

  private async render(name: string): Promise<string> {
    return `the report ${name}`;
  }
}
