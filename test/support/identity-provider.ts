import type { Browser } from './browser.ts'
import type { Harness } from './harness.ts'
import { navigate } from './navigate.ts'

/**
 * Follows the `redirect` link of a factor that another identity provider verifies, as a browser
 * does: through the broker to the org, to the identity provider, where it presses a button.
 *
 * @returns the URL to which the identity provider redirects the browser back; null: the browser is
 * at Okta
 */
export async function answerAtProvider(
  { gatehouse, authnUrl }: Pick<Harness, 'gatehouse' | 'authnUrl'>,
  browser: Browser,
  link: string,
  answer: 'approve' | 'reject',
): Promise<string | null> {
  const isOurs = link.startsWith(gatehouse.url)
  const atOrg = isOurs ? (await navigate(browser, link)).location : link
  const sentOn = await fetch(atOrg ?? '', { redirect: 'manual' })
  const page = new URL(sentOn.headers.get('location') ?? '', authnUrl)
  const body = new URLSearchParams({ answer })
  const back = await fetch(page, { method: 'POST', body, redirect: 'manual' })
  if (back.status !== 303 && back.status !== 200)
    throw new Error(`the identity provider answered ${back.status}`)
  return back.headers.get('location')
}
