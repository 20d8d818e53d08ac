import { LeadError } from '../errors.js';
import type { NodeContent } from '../lease/ephemeral-node.js';
import type { Contender } from '../lock/queue/contender.js';
import type { Session } from '../session/session.js';
import type { Campaign } from './campaign.js';
import type { ResolvedElectorOptions } from './elector-options.js';
import { parseRequest, type StepDownRequest } from './nodes/candidate-request.js';
import { writeRequest } from './nodes/request-writer.js';
import { stepsDown } from './step-down-policy.js';
import type { ElectedTerm } from './term/elected-term.js';

/** What a {@link RequestHandler} needs of its elector. */
export interface RequestHandlerPort {
  /** The term that the elector leads, while it does. */
  leading(): ElectedTerm | undefined;
  /** Ends the term as revoked; its work has until `settleBy`, by the session's clock. */
  stepDown(term: ElectedTerm, settleBy: number): void;
  report(error: Error): void;
}

/** Handles what other clients write on a candidate's node: that a term was handed over to it, or that it is to step down. */
export class RequestHandler {
  readonly #session: Session;
  readonly #onRevoke: ResolvedElectorOptions['onRevoke'];
  readonly #port: RequestHandlerPort;
  /** The key of the last request to step down that was considered: it stays on the node until the node is gone. */
  #lastConsidered: string | undefined;
  #lastRead: NodeContent | undefined;

  constructor(session: Session, onRevoke: ResolvedElectorOptions['onRevoke'], port: RequestHandlerPort) {
    this.#session = session;
    this.#onRevoke = onRevoke;
    this.#port = port;
  }

  /** The contender's node as it was last read. */
  get lastRead(): NodeContent | undefined {
    return this.#lastRead;
  }

  /** Handles the request on the contender's node, now and whenever that changes. */
  handle(contender: Contender, campaign: Campaign): void {
    this.#lastRead = undefined;
    let isLookedAt = false;
    const onChanging = () => {
      isLookedAt = true;
      campaign.mayLead();
    };
    const onRead = (content: NodeContent) => {
      const before = this.#lastRead?.version ?? 0;
      this.#lastRead = content;
      const request = parseRequest(content.data);
      // A change that came between the look and this read was reported by no event of its own.
      const seen = before + (isLookedAt ? 1 : 0);
      if (content.version > seen || request?.kind === 'lead') campaign.mayLead();
      isLookedAt = false;
      if (request?.kind === 'step-down') void this.#consider(contender, request); // Never rejects.
    };
    contender.node.whenRead(onRead, onChanging);
  }

  async #consider(contender: Contender, request: StepDownRequest): Promise<void> {
    const term = this.#port.leading();
    if (term === undefined || request.refused || request.key === this.#lastConsidered) return;
    this.#lastConsidered = request.key;
    const { clock } = this.#session;
    const { by, graceMs } = request;
    const settleBy = clock.now() + graceMs;
    const onFailure = (cause: unknown) => this.#port.report(new LeadError(term.number, cause));
    if (await stepsDown(this.#onRevoke, { by, graceMs, term }, clock, onFailure))
      return this.#port.stepDown(term, settleBy);
    try {
      await writeRequest(this.#session, contender.node.path, { ...request, refused: true });
    } catch (error) {
      if (!this.#session.ended.aborted) this.#port.report(error as Error);
    }
  }
}
