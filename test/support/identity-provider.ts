import type { Browser } from './browser.ts'
import type { Harness } from './harness.ts'
import { navigate } from './navigate.ts'

/**
 * What a user's browser does with the link `redirect` of a factor that another identity provider verifies: it goes to the
 * org (through the broker, where the link leads there), on to the identity provider, and presses a button of its page.
 *
 * @returns where the identity provider sends the browser back to
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
  if (back.status !== 303) throw new Error(`the identity provider answered ${back.status}`)
  return back.headers.get('location')
}
