import { type Denial, readDenial } from 'gatehouse-client'

/** What the address brought. */
export interface UrlParameters {
  readonly activation?: string
  readonly recovery?: string
  readonly stateToken?: string
  /** Where the user goes after the sign-in. Not checked. */
  readonly returnTo?: string
  /** Gatehouse itself leads to `returnTo`, which is on another host. */
  readonly handover?: string
  /** `login`: the user has to sign in, although a session may be open. */
  readonly prompt?: string
  /** Why the application refuses the session. */
  readonly denial?: Denial | undefined
}

/** They stay in the address, so that a reload keeps them. */
const KEPT = ['returnTo', 'handover', 'prompt', 'reason', 'amr']
/** The query, while the user is at another identity provider, which leads back without it. */
const LEFT = 'query'

/**
 * Reads the parameters. Tokens are removed at once: they must not stay in the history or be shared
 * with the URL.
 */
export function takeUrlParameters(): UrlParameters {
  const query = new URLSearchParams(location.search || takeLeft())
  const fragment = new URLSearchParams(location.hash.slice(1))
  const parameters = { ...Object.fromEntries(query), ...Object.fromEntries(fragment) }
  const denial = readDenial(query)
  for (const name of Object.keys(parameters)) if (!KEPT.includes(name)) query.delete(name)
  const kept = String(query)
  history.replaceState(null, '', location.pathname + (kept && `?${kept}`))
  return { ...parameters, denial }
}

export function forgetUrlParameters(): void {
  history.replaceState(null, '', location.pathname)
}

/** Leaves for a page that leads back here, where `resume` continues the sign-in. */
export function leaveFor(url: string): void {
  if (location.search) sessionStorage.setItem(LEFT, location.search)
  location.assign(url)
}

function takeLeft(): string {
  try {
    const left = sessionStorage.getItem(LEFT) ?? ''
    sessionStorage.removeItem(LEFT)
    return left
  } catch {
    return '' // the browser blocks the storage of this page
  }
}
