import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Group } from '../../src/pam/upstream/group.ts'
import { HOSTILE_LINK_FORMS, LEGAL_LINK_FORMS } from '../../src/sandbox/pam/pam-links.ts'
import { LOGIN } from './pam-broker.ts'
import { type Journey, startJourney } from './pam-journey.ts'

let journey: Journey
beforeEach(async () => {
  journey = await startJourney()
})
afterEach(() => journey.close())

test.each(LEGAL_LINK_FORMS)('links in the form %s are followed to the end of the list', async (form) => {
  journey.pam.control.generateGroups(250, LOGIN)
  journey.pam.control.setLinkForm(form)
  const { status, body } = await journey.broker.get('/api/v1/pam/me')
  expect(status).toBe(200)
  expect(new Set((body.groups as Group[]).map(({ id }) => id)).size).toBe(250)
})

test.each(HOSTILE_LINK_FORMS)(
  'links in the form %s fail the list; the token is sent to no other address, and nothing is cached',
  async (form) => {
    const elsewhere: string[] = []
    const other = await journey.stub((req, res) => {
      elsewhere.push(`${req.url} ${req.headers.authorization}`)
      res.end('{"list": []}')
    })
    journey.pam.control.generateGroups(250, LOGIN)
    journey.pam.control.setLinkForm(form, { origin: other.origin })

    const broker = await journey.replica({
      tunables: (same) => ({ ...same, lists: { ...same.lists, maxPages: 10 } }),
    })
    const answer = await broker.get('/api/v1/pam/me')
    expect([answer.status, answer.body.errorCode]).toEqual([502, 'pam_unexpected'])
    expect(elsewhere).toEqual([])
    expect(
      journey.pam.requestLog.entries.every(({ path }) => /service_token$|\/users\/[^/]+\/groups$/.test(path)),
    ).toBe(true)
    expect([...journey.store.entries.keys()].filter((key) => key.startsWith('gatehouse:pam-groups'))).toEqual(
      [],
    )
  },
)
