import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import type { MarkedSuccessor } from './candidates/successor.js';
import { type PlaceHost, QueuePlace } from './queue-place.js';
import type { GivenTerm } from './term/release-term.js';
import type { Claim } from './term/term.js';

/** The elector that a campaign is for. */
export interface CampaignHost extends PlaceHost {
  /** The place that the elector has from now on; `undefined` if it has none any more. */
  onPlace(place: QueuePlace | undefined): void;
  /**
   * Leads from the term's beginning until its work has settled. Returns the candidate that is to lead next, if the leader or a requester
   * has named one.
   */
  lead(place: QueuePlace, claim: Claim): Promise<MarkedSuccessor | undefined>;
  /** The servers have answered the release of the term that was led. */
  onReleased(given: GivenTerm): void;
}

/**
 * One passage of a candidate through its election. {@link QueuePlace} collects what the candidate knows, and carries the steps out. `decide`
 * chooses each step. See README.md beside this file.
 * @throws NodeLostError if another client deletes the candidate's node, the error that ended the session, a server's refusal, or the
 *   reason of `stop`. Also then the place is given back
 */
export async function campaign(host: CampaignHost, stop: Abortable): Promise<void> {
  const place = await QueuePlace.join(host, stop); // Join.
  host.onPlace(place);
  try {
    const claim = await win(place, stop); // Wait, and claim.
    const named = await host.lead(place, claim); // Lead.
    await place.release(claim, named); // Release.
  } finally {
    host.onPlace(undefined);
    await place.leave();
  }
  if (place.given !== undefined) host.onReleased(place.given);
}

/** Waits for a term, and claims it, or takes up one that was handed over. */
async function win(place: QueuePlace, stop: Abortable): Promise<Claim> {
  try {
    await place.stand(stop);
    for (;;) {
      const step = place.next();
      switch (step.do) {
        case 'look':
          await place.look();
          break;
        case 'wait':
          await place.wait(step);
          break;
        case 'claim':
          await place.claim(step, stop); // The next look shows what came of it, if the servers don't say so.
          break;
        case 'empty':
          await place.empty(step, stop);
          break;
        case 'lead': {
          const claim = await place.takeUp(step);
          if (claim !== undefined) return claim;
        }
      }
    }
  } finally {
    place.standDown();
  }
}
