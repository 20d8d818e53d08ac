/** Finds Chromium, in which tests open the dashboard's page. */
import { existsSync } from 'node:fs';
import { installDebianPackages } from '../debian/packages.mjs';
import { fromEnvironment } from '../environment.mjs';

const DEBIAN_PROGRAM = '/usr/bin/chromium';
/** The font is for the pictures in the documentation: the page asks for it, and Debian has no other good font by default. */
const PACKAGES = ['chromium', 'fonts-inter'];

/** The program's path: from `CHROMIUM`, or else Debian's. Installs Debian's package if it is missing. */
export function findChromium() {
  const asked = fromEnvironment('CHROMIUM');
  if (asked !== undefined) return asked;
  if (!existsSync(DEBIAN_PROGRAM))
    installDebianPackages('Chromium', PACKAGES, ['set CHROMIUM to the path of a Chromium or Chrome']);
  return DEBIAN_PROGRAM;
}
