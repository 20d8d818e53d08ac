/** Finds iptables, with which tests lose and refuse packets between networks of their own. */
import { installDebianPackages } from '../debian/packages.mjs';
import { runs } from '../environment.mjs';

/** Installs iptables if it is missing. */
export function findIptables() {
  if (!runs('iptables', '--version')) installDebianPackages('iptables', ['iptables'], []);
}
