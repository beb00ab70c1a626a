import { sendJson, startStubUpstream } from '../../support/stub-upstream.ts'
import type { Faults } from './fault.ts'
import type { ServicesCause } from './services.ts'

const MINUTE_MS = 60_000
const ahead = (ms: number): ServicesCause => ({ options: { now: () => Date.now() + ms } })

/** Clocks of this machine, the org and Redis. */
export const CLOCKS: Faults<ServicesCause> = {
  'far-ahead': {
    cause: ahead(10 * MINUTE_MS),
    told: {
      'authn.clock': /^fail: the clocks differ by (599|600|601) s$/,
      'redis.clock': /^fail: the clocks differ by (599|600|601) s$/,
    },
    fix: 'NTP',
  },
  'far-behind': {
    cause: ahead(-10 * MINUTE_MS),
    told: {
      'authn.clock': /^fail: the clocks differ by (599|600|601) s$/,
      'redis.clock': /^fail: the clocks differ by (599|600|601) s$/,
    },
    fix: 'NTP',
  },
  'a-little-ahead': {
    cause: ahead(1.5 * MINUTE_MS),
    told: {
      'authn.clock': /^warn: the clocks differ by (89|90|91) s$/,
      'redis.clock': /^warn: the clocks differ by (89|90|91) s$/,
    },
    fix: 'NTP',
  },
  'dates-replaced-on-the-way': {
    // as an egress proxy with a wrong clock does
    cause: async ({ cleanUp }) => {
      const date = new Date(Date.now() - 60 * MINUTE_MS).toUTCString()
      const org = await startStubUpstream((req, res) =>
        req.method === 'GET'
          ? sendJson(res, 200, { id: '00o1', pipeline: 'v1' }, { date })
          : sendJson(res, 400, { errorCode: 'E0000001', errorSummary: 'Api validation failed' }, { date }),
      )
      cleanUp(org.close)
      return { env: { AUTHN_BASE_URL: org.origin } }
    },
    told: { 'authn.clock': /^fail: the clocks differ by 3(599|600|601) s$/, 'authn.users': /^fail: / },
    fix: 'NTP',
  },
}
