import { execFileSync } from 'node:child_process'
import { type Browser, chromium } from 'playwright-core'

/**
 * Chromium obeys only the last `--disable-features`: these are Playwright's own, and the list below
 * the address bar. Chromium has that list as two pages, which each new window loads in a process of
 * its own: about 2 s of processor time, two thirds of what a window costs (seen in Chromium 156).
 */
const DISABLED_FEATURES = [
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxPopup',
]

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/**
 * A process for each site cost a seventh of the processor time of `sign-in-again`. The tests of
 * cookies, CSP, CORP and COOP also pass with site isolation.
 */
const NO_SITE_ISOLATION = '--disable-site-isolation-trials'

/** The system's Chromium, headless. `npm run setup` installs it. */
export async function openChromium(...args: readonly string[]): Promise<Browser> {
  return openChromiumIn(undefined, ...args)
}

/** With another home directory, whose authorities it trusts (`makeTrustedSite`). */
export async function openChromiumIn(home: string | undefined, ...args: readonly string[]): Promise<Browser> {
  return chromium.launch({
    ...(home === undefined ? {} : { env: { ...process.env, HOME: home } }),
    executablePath: findChromium(),
    args: [
      ...args,
      '--no-sandbox',
      '--headless',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--disable-features=${DISABLED_FEATURES.join()}`,
      NO_SITE_ISOLATION,
    ],
  })
}

export function findChromium(): string {
  for (const name of NAMES) {
    try {
      return execFileSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
    } catch {
      // not installed under this name: try the next
    }
  }
  throw new Error('Chromium is not installed: run "npm run setup"')
}
