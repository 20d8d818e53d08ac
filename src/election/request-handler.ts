import { InvalidStateError, LeadError, NoCandidateError } from '../errors.js';
import type { NodeContent } from '../lease/own-node.js';
import { abortable, settledWithin } from '../platform/async/promises.js';
import type { Clock } from '../platform/time/clock.js';
import type { Contender } from '../queue/contender.js';
import type { Session } from '../session/session.js';
import type { MarkedSuccessor } from './candidates/successor.js';
import type { LeaderElectorOptions, ResolvedElectorOptions, Revocation } from './elector-options.js';
import {
  parseRequest,
  type RefusalReason,
  type StepDownRequest,
  writeRequest,
} from './requests/candidate-request.js';
import type { ElectedTerm } from './term/elected-term.js';

/** The part of an elector that its {@link RequestHandler} uses. */
export interface RequestHandlerPort {
  /** The term that the elector leads; `undefined` while it doesn't lead. */
  leading(): ElectedTerm | undefined;
  /** The candidate with that id, or whose node has that name. @throws NoCandidateError if there is no such candidate */
  findSuccessor(candidate: string): Promise<MarkedSuccessor>;
  /**
   * Resolves when the candidate that leads next is prepared, or after `withinMs` at most. `undefined` if the leader doesn't wait for that.
   */
  untilPrepared(term: ElectedTerm, named?: MarkedSuccessor, withinMs?: number): Promise<void> | undefined;
  /**
   * Ends the term as revoked, and hands it over to `successor` if there is one. Its work has time until `settleBy`, by the session's clock.
   */
  stepDown(term: ElectedTerm, settleBy: number, successor?: MarkedSuccessor): void;
  report(error: Error): void;
}

/** A leader's answer to a request to step down. */
type Answer =
  | { readonly agrees: true; readonly successor: MarkedSuccessor | undefined }
  | { readonly agrees: false; readonly reason?: RefusalReason };

/** Handles the messages that other clients write on a candidate's node: a term was handed over to it, or it is to step down. */
export class RequestHandler {
  readonly #session: Session;
  readonly #onRevoke: ResolvedElectorOptions['onRevoke'];
  readonly #port: RequestHandlerPort;
  /** The key of the last request to step down that was considered. A request stays on the node until the node is gone. */
  #lastConsidered: string | undefined;

  constructor(session: Session, onRevoke: ResolvedElectorOptions['onRevoke'], port: RequestHandlerPort) {
    this.#session = session;
    this.#onRevoke = onRevoke;
    this.#port = port;
  }

  /**
   * Handles the request on the contender's node, now and after each change.
   * @param mayLead - called when the node has changed, mostly because a term was handed over to the contender
   */
  handle(contender: Contender, mayLead: () => void): void {
    let version = 0;
    let isLookedAt = false;
    const onChanging = () => {
      isLookedAt = true;
      mayLead();
    };
    const onRead = (content: NodeContent) => {
      const request = parseRequest(content.data);
      // A change between the event and this read got no event of its own.
      const seen = version + (isLookedAt ? 1 : 0);
      version = content.version;
      if (content.version > seen || request?.kind === 'lead') mayLead();
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
      const answer = await this.#answer(term, request, settleBy);
      if (answer.agrees) return this.#port.stepDown(term, settleBy, answer.successor);
      const { reason } = answer;
      const refusal = { ...request, refused: true, ...(reason !== undefined && { reason }) };
      await writeRequest(this.#session, contender.node.path, refusal, true);
    } catch (error) {
      this.#reportUnlessEnded(error);
    }
  }

  async #answer(term: ElectedTerm, { by, graceMs, to }: StepDownRequest, settleBy: number): Promise<Answer> {
    const revocation = { by, graceMs, ...(to !== undefined && { to }), term };
    const onFailure = (cause: unknown) => this.#port.report(new LeadError(term.number, cause));
    try {
      // The policy may end work. It isn't asked if the candidate isn't there.
      const named = to === undefined ? undefined : await this.#port.findSuccessor(to);
      if (!(await stepsDown(this.#onRevoke, revocation, this.#session.clock, onFailure)))
        return { agrees: false };
      // The work needs the other half, in order to settle.
      const waiting = this.#port.untilPrepared(term, named, (settleBy - this.#session.clock.now()) / 2);
      if (waiting !== undefined) await waiting;
      // Meanwhile the candidate may have left or changed its node.
      return { agrees: true, successor: to === undefined ? undefined : await this.#port.findSuccessor(to) };
    } catch (error) {
      if (error instanceof NoCandidateError) return { agrees: false, reason: 'no-candidate' };
      if (!(error instanceof InvalidStateError)) this.#reportUnlessEnded(error); // Otherwise the term has ended meanwhile.
      return { agrees: false };
    }
  }

  #reportUnlessEnded(error: unknown): void {
    if (!this.#session.ended.aborted) this.#port.report(error as Error);
  }
}

/**
 * Whether a leader steps down: its policy `onRevoke` decides. It also steps down if the policy fails (`onFailure`) or outlasts the grace.
 */
async function stepsDown(
  onRevoke: LeaderElectorOptions['onRevoke'],
  revocation: Revocation,
  clock: Clock,
  onFailure: (cause: unknown) => void,
): Promise<boolean> {
  if (onRevoke === undefined) return true;
  let stays = false;
  const deciding = (async () => {
    stays = (await onRevoke(revocation)) === false;
  })().catch(onFailure);
  // The end of the term for another reason leaves nothing to decide.
  await settledWithin(clock, abortable(deciding, revocation.term.signal), revocation.graceMs);
  return !stays;
}
