import { expect, test } from '@jest/globals'
import type { Response } from 'express'
import { createSetSession } from '../../src/session/set-session.ts'

test.each(['for a key', undefined])(
  'a response that opens a session sets its cookie, deletes the others, and asks for a key: %s',
  (registration) => {
    const headers: unknown[] = []
    const record = (name: string, value: string) => headers.push([name, value])
    const req = { cookies: 'of the request' }
    const setSession = createSetSession({
      sessionCookie: {
        setCookie: (id) => `session of ${id}`,
        clearOthers: (from) => [`other names in ${Object(from).cookies}`],
      },
      boundSessions: {
        clearIn: (from) => [`bound in ${Object(from).cookies}`],
        registrationHeader: (id) => registration && `${registration} of ${id}`,
      },
    })
    setSession({ req, append: record, set: record } as unknown as Response, 'one')
    expect(headers).toEqual([
      ['Set-Cookie', 'session of one'],
      ['Set-Cookie', 'other names in of the request'],
      ['Set-Cookie', 'bound in of the request'],
      ...(registration === undefined ? [] : [['Secure-Session-Registration', 'for a key of one']]),
    ])
  },
)
