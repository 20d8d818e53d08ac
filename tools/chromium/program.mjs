/** Finds Chromium, in which tests open the dashboard's page. */
import { existsSync } from 'node:fs';
import { installDebianPackages } from '../debian/packages.mjs';
import { fromEnvironment } from '../environment.mjs';

const DEBIAN_PROGRAM = '/usr/bin/chromium';
/** The second for the pictures in the documentation: the page asks for it, and Debian has no other good one by default. */
const PACKAGES = ['chromium', 'fonts-inter'];

/** The program's path: `CHROMIUM`, or Debian's. Installs Debian's if there is neither. */
export function findChromium() {
  const asked = fromEnvironment('CHROMIUM');
  if (asked !== undefined) return asked;
  if (!existsSync(DEBIAN_PROGRAM))
    installDebianPackages('Chromium', PACKAGES, ['set CHROMIUM to the path of a Chromium or Chrome']);
  return DEBIAN_PROGRAM;
}
