import { describe, expect, it } from 'vitest';
import { ConnectionLossError, OperationTimeoutError, RequestTooLargeError } from '../../../../src/errors.js';
import { LostRequest } from '../../../../src/session/connection/connection-end.js';

const lossOf = (requestBytes?: number) => new ConnectionLossError('lost', { requestBytes });

describe('a request that is repeated until it is answered', () => {
  it('is given up when it has cost five connections by its size', () => {
    const request = new LostRequest();
    for (let losses = 1; losses < 5; losses++) request.countLoss(lossOf(1025));
    expect(() => request.countLoss(lossOf(1025))).toThrow(RequestTooLargeError);
  });

  it('is never given up for losses that do not come from its size', () => {
    const request = new LostRequest();
    for (let losses = 0; losses < 20; losses++)
      for (const error of [lossOf(1024), lossOf(), new OperationTimeoutError('late', false)])
        request.countLoss(error);
    for (let losses = 1; losses < 5; losses++) request.countLoss(lossOf(2000));
  });
});
