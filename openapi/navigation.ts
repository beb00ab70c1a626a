import { z } from 'zod'
import { NAVIGATION_OPERATIONS } from '../src/authn/redirects/navigation-routes.ts'
import { SIGN_IN_QUERY } from '../src/authn/redirects/return-to.ts'
import { HAND_OVER_OPERATIONS, START_QUERY } from '../src/forward-auth/hand-over-routes.ts'
import { type Description, describe } from './description.ts'

const REASON_PARAMETER = {
  description:
    'The rule of `/forward-auth` that is not met: `X-Auth-Request-Denied` of its answer. Another value, or an empty one, counts as none.',
}

const PAGE = {
  tag: 'Redirects',
  cookies: { device: 'required' },
  rendersErrorPages: true,
} as const satisfies Partial<Description>

const OFFERED = {
  ...PAGE,
  summary: 'Follow a redirect that was offered in this sign-in',
  description: 'Works once. Other parameters are ignored.',
  query: z.object({
    stateToken: z
      .string()
      .meta({ description: 'The handle.', examples: ['00example_handle_not_a_secret_000000000000000'] }),
  }),
  responses: {
    302: { description: 'To Okta, with the real token', headers: ['Location', 'Set-Cookie'] },
  },
  errors: { 401: ['E0000011'], 403: ['E0000006', 'E0000079'] },
} as const satisfies Partial<Description>

/** Pages that the browser itself opens. */
export const NAVIGATION = describe(NAVIGATION_OPERATIONS, {
  goToSignIn: {
    ...PAGE,
    summary: 'Sign in, then return: for a browser that a proxy has found without a session',
    description:
      'A browser with a session is redirected to `returnTo` at once, unless `amr` or `maxAuthAge` is not met, as in `/forward-auth`, or the `reason` is a rule that is not in the query. A URL or path that is not percent-encoded continues to the end of the query. One that is too long, or that servers could read in different ways, falls back to the longest allowed URL with which it begins. Parameters of `SIGN_IN_URL` have no effect, and with `prompt`, `reason` has none; others are refused: 400.',
    cookies: { session: 'used', device: 'used' },
    query: SIGN_IN_QUERY.extend({
      returnTo: z.string().meta({
        description:
          'A URL at or below `PUBLIC_URL`, one of `ALLOWED_ORIGINS` or one of `RETURN_TO`; or a path of `PUBLIC_URL`.',
        examples: ['https://portal.example.com/app/report?year=2026'],
      }),
      reason: SIGN_IN_QUERY.shape.reason.meta(REASON_PARAMETER),
      handover: SIGN_IN_QUERY.shape.handover.meta({
        description: 'Set by the broker in `/forward-auth/start`; the sign-in page returns it.',
      }),
    }),
    responses: {
      303: {
        description:
          'To `returnTo` (with `handover`, to `/forward-auth/callback` of its host), or to `SIGN_IN_URL` with both; despite a session with `prompt=login`, the `reason`, and for `amr` the methods that are missing',
        headers: ['Location', 'Set-Cookie'],
      },
    },
    errors: { 400: ['E0000001'], 403: ['E0000006'] },
  },
  beginStepUp: {
    ...PAGE,
    summary: 'Start a step-up: the target of Okta’s redirect to the sign-in page',
    description: 'Returns 404 unless `STEP_UP=on`.',
    cookies: { device: 'used' },
    query: z.object({
      stateToken: z
        .string()
        .min(20)
        .max(512)
        .meta({
          description: 'Okta’s state token. The broker stores it and gives the browser a handle.',
          examples: ['00example-state-token-not-a-secret'],
        }),
    }),
    responses: {
      303: { description: 'To `SIGN_IN_URL`, with a handle', headers: ['Location', 'Set-Cookie'] },
    },
    errors: { 400: ['E0000001'], 403: ['E0000006'], 404: ['E0000007'], 429: ['E0000047'] },
  },
  followStepUp: OFFERED,
  followTokenRedirect: OFFERED,
  followIdentityProvider: {
    ...OFFERED,
    params: z.object({
      id: z
        .string()
        .min(1)
        .meta({
          description: 'The identity provider’s id, as in the link.',
          examples: ['0oaExampleProvider1'],
        }),
    }),
  },
  redeemSsoToken: {
    ...PAGE,
    summary: 'Single sign-on: continue to an app',
    description:
      'Requires `SSO_REDIRECTS`. Works once, within five minutes. With `OKTA_SIGN_OUT=on`, the browser goes to Okta’s sign-out first, and returns here with `signedOut`.',
    query: z.object({
      token: z.string().meta({
        description: 'The SSO token: the handle in `sessionToken` of the response with `SUCCESS`.',
        examples: ['00example_handle_not_a_secret_000000000000000'],
      }),
      redirectUrl: z
        .url()
        .max(2048)
        .meta({
          description: 'The redirect target, at or below an entry of `SSO_REDIRECTS`.',
          examples: ['https://app.example.com/start'],
        }),
      signedOut: z
        .string()
        .meta({ description: 'Set by the broker, for the return from Okta’s sign-out.' })
        .optional(),
    }),
    responses: {
      302: {
        description: 'To Okta, with the real session token, or to its sign-out',
        headers: ['Location', 'Set-Cookie'],
      },
    },
    errors: { 400: ['E0000001'], 401: ['E0000011'], 403: ['E0000006'] },
  },
})

/** Pages of the applications' hosts. */
export const HAND_OVER = describe(HAND_OVER_OPERATIONS, {
  startHandOver: {
    ...PAGE,
    summary: 'On an application’s host: begin a hand-over, for a browser without a session there',
    description:
      'The proxy of the host sends `X-Forwarded-Host`. The host must be one of `RETURN_TO`, on the site of `PUBLIC_URL`. `amr` and `maxAuthAge` are those of the rule of `/forward-auth`. A URL or path that is not percent-encoded continues to the end of the query.',
    cookies: {},
    query: START_QUERY.extend({
      returnTo: z.string().meta({
        description: 'A URL at or below an entry of `RETURN_TO` on this host, or a path of it.',
        examples: ['https://wiki.example.com/page?x=1'],
      }),
      reason: START_QUERY.shape.reason.meta(REASON_PARAMETER),
    }),
    responses: { 303: { description: 'To `/signin` of `PUBLIC_URL`', headers: ['Location', 'Set-Cookie'] } },
    errors: { 400: ['E0000001'], 403: ['E0000006'] },
  },
  completeHandOver: {
    ...PAGE,
    summary: 'On an application’s host: complete a hand-over',
    description:
      'Works once, within a minute, in the browser that began the hand-over. In another one, the response sets no cookie, so that the browser begins again. The code is used up in any case.',
    cookies: {},
    query: z.object({ code: z.string().meta({ description: 'Set by the broker in `/signin`.' }) }),
    responses: { 303: { description: 'To the target', headers: ['Location', 'Set-Cookie'] } },
    errors: { 400: ['E0000001'], 401: ['E0000011'], 403: ['E0000006'] },
  },
})
