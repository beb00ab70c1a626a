import type { IncomingHttpHeaders } from 'node:http'
import { notAllowed } from '../errors.ts'

/**
 * What may request a page. Each includes those before it:
 *
 * - `document`: the browser itself, to show the page in a tab: no frame, image or fetch;
 * - `passed-on`: a service worker of the page's own origin that passes a navigation on unchanged.
 *   The request has no destination then, but no script can make one of this mode;
 * - `own-origin`: a request of any kind of a script there, such as a worker that makes a new one.
 */
type NavigationSource = 'document' | 'passed-on' | 'own-origin'

/** By Fetch Metadata. Throws 403, also for a prefetch. */
export function assertNavigation(headers: IncomingHttpHeaders, from: NavigationSource = 'document'): void {
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': destination, 'sec-fetch-site': site } = headers
  const isPrefetch = headers['sec-purpose'] !== undefined || headers.purpose === 'prefetch'
  const isAllowed = {
    document: mode === 'navigate' && destination === 'document',
    'passed-on': mode === 'navigate' && destination === 'empty',
    'own-origin': site === 'same-origin' && destination === 'empty',
  } satisfies Record<NavigationSource, boolean>
  const sources: readonly NavigationSource[] = ['document', 'passed-on', 'own-origin']
  const accepted = sources.slice(0, sources.indexOf(from) + 1)
  if (!isPrefetch && accepted.some((source) => isAllowed[source])) return
  throw notAllowed(
    'Sec-Fetch-Mode, Sec-Fetch-Dest: open this page in the browser; scripts cannot fetch it, and service workers must leave it alone',
  )
}
