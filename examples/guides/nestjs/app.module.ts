import { Controller, Get, HttpException, Inject, Module, Param, Post } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import type { ElectionSupervisor } from 'conclave';
import { ConclaveModule, InjectSupervisor } from 'conclave/nestjs';
import { ReportsService } from './reports.service.js';

@Controller()
export class AppController {
  constructor(
    @Inject(ReportsService) private readonly reports: ReportsService,
    @InjectSupervisor() private readonly supervisor: ElectionSupervisor,
  ) {}

  @Get('livez')
  live() {
    return this.answer(this.supervisor.health().live);
  }

  @Get('readyz')
  ready() {
    return this.answer(this.supervisor.health().ready);
  }

  @Post('reports/:name')
  async write(@Param('name') name: string) {
    return { report: (await this.reports.write(name)) ?? null };
  }

  private answer(isWell: boolean) {
    const health = this.supervisor.health();
    if (!isWell) throw new HttpException(health, 503);
    return health;
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    ConclaveModule.forRoot({
      connect: process.env.ZOOKEEPER ?? '127.0.0.1:2181',
      path: process.env.ELECTION ?? '/shop/reports',
    }),
  ],
  controllers: [AppController],
  providers: [ReportsService],
})
export class AppModule {}
