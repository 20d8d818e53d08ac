import { connect } from 'node:net';

/**
 * Sends one of ZooKeeper's four-letter words to a server, and resolves with the answer.
 *
 * @param {number} port
 * @param {string} word
 * @param {string} [host]
 * @returns {Promise<string>}
 */
export function fourLetterWord(port, word, host = '127.0.0.1') {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host }, () => socket.write(word));
    let answer = '';
    socket.setEncoding('utf8').setTimeout(5000, () => socket.destroy(new Error(`no answer to ${word}`)));
    socket.on('data', (text) => {
      answer += text;
    });
    socket.on('error', reject).on('close', () => resolve(answer));
  });
}
