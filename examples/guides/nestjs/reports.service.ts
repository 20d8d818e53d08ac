import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { currentTerm } from 'conclave';
import type { JobRun } from 'conclave/jobs';
import { LeaderJob, LeaderOnly } from 'conclave/nestjs';

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

  /** Fires in every replica; each firing runs once, on the leader. */
  @Cron('*/5 * * * * *')
  @LeaderJob()
  async writeRegularly({ scheduledFor, term }: JobRun): Promise<void> {
    const name = scheduledFor.toISOString();
    const report = await this.render(name);
    term.assertHeld();
    this.written.push({ name, token: term.token });
    console.log(`wrote ${report}`);
  }

  private async render(name: string): Promise<string> {
    return `the report ${name}`;
  }
}
