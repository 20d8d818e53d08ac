import { InvalidStateError, LeadError, NoCandidateError } from '../errors.js';
import type { NodeContent } from '../lease/ephemeral-node.js';
import type { Contender } from '../lock/queue/contender.js';
import type { Session } from '../session/session.js';
import type { Campaign } from './campaign.js';
import type { ResolvedElectorOptions } from './elector-options.js';
import { parseRequest, type RefusalReason, type StepDownRequest } from './nodes/candidate-request.js';
import { writeRequest } from './nodes/request-writer.js';
import { stepsDown } from './step-down-policy.js';
import type { MarkedSuccessor } from './successor/successor.js';
import type { ElectedTerm } from './term/elected-term.js';

/** What a {@link RequestHandler} needs of its elector. */
export interface RequestHandlerPort {
  /** The term that the elector leads, while it does. */
  leading(): ElectedTerm | undefined;
  /** The candidate with that id, or that name of its node. @throws NoCandidateError if there is no such candidate */
  findSuccessor(candidate: string): Promise<MarkedSuccessor>;
  /** Ends the term as revoked, in favour of `successor` if there is one; its work has until `settleBy`, by the session's clock. */
  stepDown(term: ElectedTerm, settleBy: number, successor?: MarkedSuccessor): void;
  report(error: Error): void;
}

/** What a leader answers to a request to step down. */
type Answer =
  | { readonly agrees: true; readonly successor: MarkedSuccessor | undefined }
  | { readonly agrees: false; readonly reason?: RefusalReason };

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
    const settleBy = this.#session.clock.now() + request.graceMs;
    try {
      const answer = await this.#answer(term, request);
      if (answer.agrees) return this.#port.stepDown(term, settleBy, answer.successor);
      const { reason } = answer;
      const refusal = { ...request, refused: true, ...(reason !== undefined && { reason }) };
      await writeRequest(this.#session, contender.node.path, refusal);
    } catch (error) {
      this.#reportUnlessEnded(error);
    }
  }

  async #answer(term: ElectedTerm, { by, graceMs, to }: StepDownRequest): Promise<Answer> {
    const revocation = { by, graceMs, ...(to !== undefined && { to }), term };
    const onFailure = (cause: unknown) => this.#port.report(new LeadError(term.number, cause));
    try {
      // The policy may bring work to an end: not for a candidate that isn't there.
      if (to !== undefined) await this.#port.findSuccessor(to);
      if (!(await stepsDown(this.#onRevoke, revocation, this.#session.clock, onFailure)))
        return { agrees: false };
      // It may have left while the policy thought, or have changed its node.
      return { agrees: true, successor: to === undefined ? undefined : await this.#port.findSuccessor(to) };
    } catch (error) {
      if (error instanceof NoCandidateError) return { agrees: false, reason: 'no-candidate' };
      // With several seats no term can be handed over, and a requester that asks knows no better.
      if (!(error instanceof InvalidStateError)) this.#reportUnlessEnded(error);
      return { agrees: false };
    }
  }

  #reportUnlessEnded(error: unknown): void {
    if (!this.#session.ended.aborted) this.#port.report(error as Error);
  }
}
