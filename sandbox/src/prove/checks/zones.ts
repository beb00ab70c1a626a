import { type Check, holds, notTestable, unclear } from '../check.ts'
import { at, listOf, textAt } from '../json.ts'
import { eventOf, eventOfSignIn } from '../steps/sign-in-events.ts'

const ZONES = 'connect-your-okta-org.md#3-network-zones'
export const ZONE_CHECKS: readonly Check[] = [
  {
    id: 'R3',
    belief: 'X-Forwarded-For of a caller whose address is in a zone counts with and without an API token.',
    where: ZONES,
    change:
      'If it counts with a token only, the org sees one address for all recoveries: raise its limits, or set RECOVERY=known-devices.',
    needs: [],
    async run(context) {
      const { org, authn } = context
      const portal = await context.openPortal()
      const forwarded = portal.address
      const withToken = zoneIn((await eventOfSignIn(context, portal)).event)
      const options = { token: false, forwardedFor: forwarded }
      const reply = await authn.signIn(await org.createUser(), {}, options)
      const without = zoneIn((await eventOf(context, reply)).event)
      if (withToken.address === '' || without.address === '')
        return unclear('no event of the sign-in was found')
      if (withToken.address !== forwarded && without.address !== forwarded)
        return notTestable('the address of this machine is in no zone of the org: add it to one as a proxy')
      const name = ({ address, zone }: typeof without) =>
        `${address === forwarded ? 'the forwarded address' : 'the caller’s address'} in ${zone}`
      return holds(
        withToken.address === without.address && withToken.zone === without.zone,
        `with the token ${name(withToken)}, without ${name(without)}`,
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
      const portal = await context.openPortal()
      const { event } = await eventOfSignIn(context, portal)
      if (event === undefined) return unclear('no event of the sign-in was found')
      const chain = listOf(at(event, 'request.ipChain')).map((hop) => at(hop, 'ip'))
      const counts = textAt(event, 'client.ipAddress') === portal.address
      return holds(
        chain.includes(portal.address),
        `${chain.length} address(es), ${chain.includes(portal.address) ? 'with' : 'without'} it; it ${counts ? 'counts' : 'does not count'}`,
      )
    },
  },
]

/** The address that counts, and whether a zone has it: the name of a zone is the org's. */
function zoneIn(event: unknown): { address: string; zone: string } {
  const zone = textAt(event, 'client.zone')
  return {
    address: textAt(event, 'client.ipAddress'),
    zone: zone === 'null' || zone === '' ? 'no zone' : 'a zone',
  }
}
