import { expect, test } from '@jest/globals'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { composeMiddleware } from '../../src/http/routes.ts'

/** The arguments of the final `next`: `[]` without an error. */
const after = (...handlers: RequestHandler[]) =>
  new Promise<unknown[]>((resolve) => {
    const next: NextFunction = (...told: unknown[]) => resolve(told.filter((one) => one !== undefined))
    void composeMiddleware(...handlers)({} as Request, {} as Response, next)
  })
const resume: RequestHandler = (_req, _res, next) => next()

test('handlers run in order, asynchronous ones included', async () => {
  const seen: string[] = []
  const slow: RequestHandler = async (_req, _res, next) => {
    await Promise.resolve()
    seen.push('slow')
    next()
  }
  const last: RequestHandler = (_req, _res, next) => {
    seen.push('last')
    next()
  }
  expect(await after(resume, slow, last)).toEqual([])
  expect(seen).toEqual(['slow', 'last'])
})

const failure = new Error('plainly wrong')
const refusals: [string, RequestHandler][] = [
  [
    'throws',
    () => {
      throw failure
    },
  ],
  ['rejects', () => Promise.reject(failure)],
  ['passes an error to next', (_req, _res, next) => next(failure)],
]
test.each(refusals)('a handler that %s is the last one', async (_how, refuse) => {
  let went = false
  const told = await after(refuse, () => {
    went = true
  })
  expect([told, went]).toEqual([[failure], false])
})

test('a rejection without a reason is an error', async () => {
  expect(await after(() => Promise.reject())).toEqual([expect.any(Error)])
})
