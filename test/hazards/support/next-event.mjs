/** @import { Client, ClientEvent } from './contract.js' */

/** @param {Client} client @param {ClientEvent} event @returns {Promise<void>} resolves at the next such event */
export function nextEvent(client, event) {
  return new Promise((resolve) => client.once(event, () => resolve()));
}
