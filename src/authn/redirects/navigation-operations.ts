import type { Operation, Operations } from '../../http/routes.ts'

const PAGE = {
  method: 'GET',
  withoutHead: true, // HEAD must not consume a one-use link
  readableFrom: 'any-site', // the route accepts only navigations
} as const satisfies Partial<Operation>

/** Pages that the browser itself opens. */
export const NAVIGATION_OPERATIONS = {
  beginStepUp: { ...PAGE, path: '/signin/step-up' },
  followStepUp: { ...PAGE, path: '/login/step-up/redirect' },
  followTokenRedirect: { ...PAGE, path: '/login/token/redirect' },
  followIdentityProvider: { ...PAGE, path: '/sso/idps/:id' },
  redeemSsoToken: { ...PAGE, path: '/login/sessionCookieRedirect' },
} as const satisfies Operations
