import { type Check, holds, notTestable, unclear } from '../check.ts'
import type { Context } from '../context.ts'
import { at, listOf, textAt } from '../json.ts'
import { eventOfSignIn } from './events.ts'

const ZONES = 'connect-your-okta-org.md#3-network-zones'
/** Of a range for documentation: nobody has it. */
const FORWARDED = '198.51.100.77'

export const ZONE_CHECKS: readonly Check[] = [
  {
    id: 'R3',
    belief: 'X-Forwarded-For of a caller whose address is in a zone counts with and without an API token.',
    where: ZONES,
    change:
      'If it counts with a token only, the org sees one address for all recoveries: raise its limits, or set RECOVERY=known-devices.',
    needs: [],
    async run(context) {
      const seen = { with: await addressSeen(context, true), without: await addressSeen(context, false) }
      if (seen.with === '' || seen.without === '') return unclear('no event of the sign-in was found')
      if (seen.with !== FORWARDED && seen.without !== FORWARDED)
        return notTestable('the address of this machine is in no zone of the org: add it to one as a proxy')
      const name = (address: string) =>
        address === FORWARDED ? 'the forwarded address' : 'the caller’s address'
      return holds(
        seen.with === seen.without,
        `with the token ${name(seen.with)}, without ${name(seen.without)}`,
      )
    },
  },
  {
    id: 'N2',
    belief: 'client.zone in the System Log is a text: the name of a zone, or "null".',
    where: ZONES,
    change: 'Look at the zones of the System Log by hand.',
    needs: [],
    async run(context) {
      const { event } = await eventOfSignIn(context)
      if (event === undefined) return unclear('no event of the sign-in was found')
      const zone = at(event, 'client.zone')
      const seen = zone === 'null' ? '"null"' : typeof zone === 'string' ? 'a name' : `${zone}`
      return holds(typeof zone === 'string' && zone !== '', seen)
    },
  },
  {
    id: 'N3',
    belief: 'The IP chain in the System Log has the forwarded address, whether it counts or not.',
    where: 'operations.md#doctor',
    change: 'The doctor cannot show the IP chain: compare the addresses of the log by hand.',
    needs: [],
    async run(context) {
      const { event } = await eventOfSignIn(context, {}, { forwardedFor: FORWARDED })
      if (event === undefined) return unclear('no event of the sign-in was found')
      const chain = listOf(at(event, 'request.ipChain')).map((hop) => at(hop, 'ip'))
      const counts = textAt(event, 'client.ipAddress') === FORWARDED
      return holds(
        chain.includes(FORWARDED),
        `${chain.length} address(es), ${chain.includes(FORWARDED) ? 'with' : 'without'} it; it ${counts ? 'counts' : 'does not count'}`,
      )
    },
  },
]

async function addressSeen(context: Context, token: boolean): Promise<string> {
  const { event } = await eventOfSignIn(context, {}, { token, forwardedFor: FORWARDED })
  return textAt(event, 'client.ipAddress')
}
