import { z } from 'zod'
import type { Operation, Operations } from '../http/operation.ts'
import { pathParams } from './answer-schemas.ts'

const PAGE = {
  method: 'GET',
  tag: 'Redirects',
  cookies: { device: 'required' },
  showsErrorPages: true,
} as const satisfies Partial<Operation>

const OFFERED = {
  ...PAGE,
  summary: 'Go to the very link that was offered in this sign-in',
  description: 'Once. Every other parameter is dropped.',
  query: z.object({
    stateToken: z
      .string()
      .meta({ description: 'The handle.', examples: ['00example_handle_not_a_secret_000000000000000'] }),
  }),
  responses: {
    302: { description: 'To the upstream, with the real token', headers: ['Location', 'Set-Cookie'] },
  },
  errors: { 401: ['E0000011'], 403: ['E0000006', 'E0000079'] },
} as const satisfies Partial<Operation>

/** The addresses that the browser itself opens. */
export const NAVIGATION_OPERATIONS = {
  beginStepUp: {
    ...PAGE,
    path: '/signin/step-up',
    summary: 'Where the upstream sends the browser for a step-up that an app began',
    description: 'With `STEP_UP=on`; else it is a 404.',
    cookies: { device: 'used' },
    query: z.object({
      stateToken: z
        .string()
        .min(20)
        .max(512)
        .meta({
          description: 'The upstream’s state token, which is kept here.',
          examples: ['00example-state-token-not-a-secret'],
        }),
    }),
    responses: {
      303: { description: 'To `SIGN_IN_URL`, with a handle', headers: ['Location', 'Set-Cookie'] },
    },
    errors: { 400: ['E0000001'], 403: ['E0000006'], 404: ['E0000007'], 429: ['E0000047'] },
  },
  followStepUp: { ...OFFERED, path: '/login/step-up/redirect' },
  followTokenRedirect: { ...OFFERED, path: '/login/token/redirect' },
  followIdentityProvider: {
    ...OFFERED,
    path: '/sso/idps/:id',
    params: z.object({
      id: pathParams.id.meta({
        description: 'The identity provider’s id, as a link has it.',
        examples: ['0oaExampleProvider1'],
      }),
    }),
  },
  handOverSession: {
    ...PAGE,
    path: '/login/sessionCookieRedirect',
    summary: 'Single sign-on: go on to an app',
    description: 'With `SSO_REDIRECTS`. Once, and within five minutes.',
    query: z.object({
      token: z.string().meta({
        description: 'The handle in the `sessionToken` of the answer that signed in.',
        examples: ['00example_handle_not_a_secret_000000000000000'],
      }),
      redirectUrl: z
        .url()
        .max(2048)
        .meta({
          description: 'Where to, under one of `SSO_REDIRECTS`.',
          examples: ['https://app.example.com/start'],
        }),
    }),
    responses: {
      302: {
        description: 'To the upstream, with the real session token',
        headers: ['Location', 'Set-Cookie'],
      },
    },
    errors: { 400: ['E0000001'], 401: ['E0000011'], 403: ['E0000006'] },
  },
} as const satisfies Operations
