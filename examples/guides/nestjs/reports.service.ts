import { Injectable } from '@nestjs/common';
import { currentTerm, LeaderOnly } from './conclave.module.js';

@Injectable()
export class ReportsService {
  readonly written: { name: string; token: bigint }[] = [];

  /** Every replica calls it; only the leader writes. */
  @LeaderOnly()
  async write(name: string): Promise<string> {
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
