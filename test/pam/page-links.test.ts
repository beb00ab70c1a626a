import { expect, test } from '@jest/globals'
import { HOSTILE_LINK_FORMS, LEGAL_LINK_FORMS } from 'gatehouse-sandbox/pam/pam-links'
import type { Group } from '../../src/pam/upstream/group.ts'
import { LOGIN } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

const harness = usePamHarness()

// shows: F-7.12, P-9.6, P-13.5, D-2.2
// sandbox shows: F-7.12
test.each(LEGAL_LINK_FORMS)('links in the form %s are followed to the end of the list', async (form) => {
  harness.pam.control.generateGroups(250, LOGIN)
  harness.pam.control.setLinkForm(form)
  const { status, body } = await harness.broker.get('/api/v1/pam/me')
  expect(status).toBe(200)
  expect(new Set((body.groups as Group[]).map(({ id }) => id)).size).toBe(250)
})

// shows: F-7.13, D-2.3, V13.2.4
// sandbox shows: F-7.13, F-7.17
test.each(HOSTILE_LINK_FORMS)(
  'links in the form %s fail the list; the token is sent to no other address, and nothing is cached',
  async (form) => {
    const elsewhere: string[] = []
    const other = await harness.stub((req, res) => {
      elsewhere.push(`${req.url} ${req.headers.authorization}`)
      res.end('{"list": []}')
    })
    harness.pam.control.generateGroups(250, LOGIN)
    harness.pam.control.setLinkForm(form, { origin: other.origin })

    const broker = await harness.replica({ pageLimits: { maxPages: 10 } })
    const answer = await broker.get('/api/v1/pam/me')
    expect([answer.status, answer.body.errorCode]).toEqual([502, 'pam_unexpected'])
    expect(elsewhere).toEqual([])
    expect(
      harness.pam.requestLog.entries.every(({ path }) =>
        /service_token$|\/users\/[^/]+(\/groups)?$/.test(path),
      ),
    ).toBe(true)
    expect([...harness.store.entries.keys()].filter((key) => key.startsWith('gatehouse:pam-groups'))).toEqual(
      [],
    )
  },
)
