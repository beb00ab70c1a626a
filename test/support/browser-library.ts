import { OktaAuth } from '@okta/okta-auth-js/authn'
import { type Browser, openBrowser } from './browser.ts'
import { PASSWORD } from './harness.ts'

/**
 * Okta's browser library, unchanged. `issuer` is the broker, and requests go through a cookie jar.
 */
interface Library {
  readonly client: OktaAuth
  readonly browser: Browser
}

/**
 * In a browser, the library keeps the transaction's handle in a cookie. Here it uses this storage.
 */
export function openLibrary(url: string): Library {
  const browser = openBrowser(url)
  const kept = new Map<string, string>()
  const client = new OktaAuth({
    issuer: url,
    pollDelay: 10,
    storageUtil: storageIn(kept),
    httpRequestClient: async (method, url, { headers, data }) => {
      const raw = typeof data === 'string' ? data : JSON.stringify(data)
      const options = { headers: { ...(headers as Record<string, string>) } }
      const answer =
        method === 'GET'
          ? await browser.get(url, options)
          : method === 'DELETE'
            ? await browser.delete(url, options)
            : await browser.post(url, undefined, { ...options, ...(raw === undefined ? {} : { raw }) })
      const response = {
        status: answer.status,
        responseText: answer.text,
        responseType: 'json',
        responseJSON: answer.json,
        headers: Object.fromEntries(answer.headers),
      }
      if (answer.status >= 400) throw response
      return response
    },
  })
  return { client, browser }
}

type StorageUtil = NonNullable<NonNullable<ConstructorParameters<typeof OktaAuth>[0]>['storageUtil']>

function storageIn(kept: Map<string, string>): StorageUtil {
  const items = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  }
  return {
    storage: {
      get: (name: string) => kept.get(name) ?? '',
      set: (name: string, value: string) => {
        kept.set(name, value)
        return value
      },
      delete: (name: string) => String(kept.delete(name)),
    },
    testStorageType: (type: string) => type === 'memory',
    getStorageByType: () => items,
    findStorageType: () => 'memory',
  }
}

type Step = (args?: object) => Promise<Transaction>
interface LibraryFactor {
  readonly factorType: string
  readonly provider?: string
  readonly verify?: Step
  readonly enroll?: Step
  readonly questions?: () => Promise<unknown>
}
interface Transaction {
  readonly status: string
  readonly factorResult?: string
  readonly factors?: readonly LibraryFactor[]
  readonly changePassword?: Step
  readonly resetPassword?: Step
  readonly skip?: Step
  readonly prev?: Step
  readonly cancel?: Step
  readonly poll?: Step
  readonly activate?: Step
  readonly answer?: Step
}

export async function signIn(client: OktaAuth, username: string, options = {}): Promise<Transaction> {
  return asTransaction(await client.signInWithCredentials({ username, password: PASSWORD, ...options }))
}

/**
 * The library's types are loose: a transaction has one function for each link, with the link's
 * name.
 */
export function asTransaction(answer: unknown): Transaction {
  return answer as Transaction
}

export function step(given: Step | undefined, name: string): Step {
  if (given === undefined) throw new Error(`the library offers no ${name}`)
  return given
}

export function factor({ factors = [] }: Transaction, factorType: string): LibraryFactor {
  const found = factors.find((one) => one.factorType === factorType)
  if (found === undefined) throw new Error(`the library offers no ${factorType}`)
  return found
}
