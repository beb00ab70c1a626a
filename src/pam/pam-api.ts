import type { z } from 'zod'
import { type ErrorCode, isErrorCode } from '../http/error-object.ts'
import { json, type Refusals, type RouteDescription } from '../http/route-description.ts'
import {
  accessAnswer,
  directoryQuery,
  groupAnswer,
  groupParam,
  groupsAnswer,
  lookupQuery,
} from './pam-schemas.ts'
import { PAM_RULES } from './upstream/pam-errors.ts'

const CODES: readonly ErrorCode[] = [...new Set<string>(Object.values(PAM_RULES).map(({ code }) => code))]
  .filter(isErrorCode)
  .sort()

const codesOf = (status: number): ErrorCode[] =>
  CODES.filter((code) =>
    Object.values(PAM_RULES).some((rule) => rule.code === code && rule.status === status),
  )

/** When there is no session, or PAM fails. What `maxAge` asks for and cannot be had is 503, whatever failed (DESIGN §6). */
const REFUSALS: Refusals = {
  400: ['E0000001'],
  401: ['E0000005'],
  404: ['E0000007', ...codesOf(404)],
  502: codesOf(502),
  503: CODES,
  504: codesOf(504),
}

/** Whether a user may list groups is decided on a fresh response, or not at all: then 503 as well. */
const DIRECTORY_REFUSALS: Refusals = {
  ...REFUSALS,
  403: ['E0000006'],
  404: ['E0000007'],
}

/** What the OpenAPI document says of this room's routes. */
export const PAM_API: readonly RouteDescription[] = [
  describe({
    path: '/api/v1/pam/me',
    id: 'getAccess',
    summary: 'One’s own groups and roles',
    query: lookupQuery,
    answer: accessAnswer,
    refusals: REFUSALS,
  }),
  describe({
    path: '/api/v1/pam/groups',
    id: 'listGroups',
    summary: 'The team’s groups',
    details: 'Where `PAM_DIRECTORY` allows this person to.',
    query: directoryQuery,
    answer: groupsAnswer,
    refusals: DIRECTORY_REFUSALS,
  }),
  describe({
    path: '/api/v1/pam/groups/:id',
    id: 'getGroup',
    summary: 'One group of the team',
    details: 'Where `PAM_DIRECTORY` allows this person to.',
    params: groupParam,
    query: lookupQuery,
    answer: groupAnswer,
    refusals: DIRECTORY_REFUSALS,
  }),
]

function describe({
  answer,
  details = '',
  ...rest
}: Pick<RouteDescription, 'path' | 'id' | 'summary' | 'details' | 'query' | 'params' | 'refusals'> & {
  answer: z.ZodType
}): RouteDescription {
  return {
    ...rest,
    method: 'GET',
    group: 'Access',
    details: `${details} Without \`PAM_BASE_URL\` it is a 404.`.trim(),
    cookies: { session: 'required' },
    headers: ['If-None-Match'],
    answers: {
      200: json('Found', answer, ['ETag', 'Age']),
      304: { says: 'As before: the ETag is one of `If-None-Match`.', headers: ['ETag', 'Age'] },
    },
  }
}
