/** What a link brought: the token of an email, or the handle of a step-up. */
export interface UrlParameters {
  readonly activation?: string
  readonly recovery?: string
  readonly stateToken?: string
}

/** Reads the parameters and removes them at once: tokens must not stay in the history or be shared with the URL. */
export function takeUrlParameters(): UrlParameters {
  const parameters = {
    ...Object.fromEntries(new URLSearchParams(location.search)),
    ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))),
  }
  if (location.search !== '' || location.hash !== '') history.replaceState(null, '', location.pathname)
  return parameters
}
