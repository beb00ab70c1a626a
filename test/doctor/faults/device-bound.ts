import type { Faults } from './fault.ts'
import { drop, type PortalCause, WRITTEN, when, without } from './portal.ts'

const requestLost = (...names: string[]) => ({
  proxy: { request: drop(...names.map((name) => name.toLowerCase())) },
})
const responseLost = (...names: string[]) => ({
  proxy: { response: without(...names.map((name) => name.toLowerCase())) },
})
const told = (detail: string) => ({ 'public.bound_sessions': `fail: ${detail}` })
const FIX = 'docs/device-bound-sessions.md'

/** Without one of these headers or paths, browsers bind no session, and say nothing. */
export const DEVICE_BOUND: Faults<PortalCause> = {
  'response-removed': {
    cause: requestLost('Secure-Session-Response'),
    told: told('Secure-Session-Response does not arrive'),
    fix: FIX,
  },
  'id-removed': {
    cause: requestLost('Sec-Secure-Session-Id'),
    told: told('Sec-Secure-Session-Id does not arrive'),
    fix: FIX,
  },
  'id-removed-at-refresh': {
    cause: {
      proxy: {
        request: (_headers, url) =>
          url === '/bound-session/refresh' ? drop('sec-secure-session-id')() : WRITTEN,
      },
    },
    told: told('Sec-Secure-Session-Id does not arrive at /bound-session/refresh'),
    fix: FIX,
  },
  'skipped-removed': {
    cause: requestLost('Secure-Session-Skipped'),
    told: told('Secure-Session-Skipped does not arrive'),
    fix: FIX,
  },
  'registration-removed': {
    cause: responseLost('Secure-Session-Registration'),
    told: told('Secure-Session-Registration does not come back'),
    fix: FIX,
  },
  'challenge-removed': {
    cause: responseLost('Secure-Session-Challenge'),
    told: told('Secure-Session-Challenge does not come back'),
    fix: FIX,
  },
  'refresh-not-passed': {
    cause: { proxy: { intercept: when(({ url }) => url === '/bound-session/refresh', 404) } },
    told: told('/bound-session/refresh does not lead to the broker'),
    fix: FIX,
  },
  'binding-not-passed': {
    cause: { proxy: { intercept: when(({ url }) => url === '/bound-session', 404) } },
    told: told('/bound-session does not lead to the broker'),
    fix: FIX,
  },
  'switched-on-for-the-doctor-only': {
    cause: async ({ startReplica }) => {
      const port = await startReplica({ DEVICE_BOUND_SESSIONS: 'off' })
      return { proxy: { portOf: () => port }, application: { portOf: () => port } }
    },
    told: {
      'public.configuration':
        'warn: the running broker, or one of its replicas, has another DEVICE_BOUND_SESSIONS than the doctor',
      'public.cookies': 'fail: the response sets no device cookie',
    },
    fix: 'Restart each replica',
  },
}
