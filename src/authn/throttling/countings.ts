import type { Signer } from '../../crypto/sign.ts'
import { countedAddress } from '../../http/counted-address.ts'
import type { Counting, CountingWindow, WindowName } from '../../store/counting.ts'
import { countingWindow, limitPlace } from '../../store/limiter.ts'
import type { Client } from '../browser/client.ts'
import type { Attempt } from './attempts.ts'
import {
  ATTEMPT_KINDS,
  type GuessingFigures,
  SCOPE_LABELS,
  type Scope,
  WINDOWS,
  type Windows,
} from './figures.ts'
import type { LoginNames } from './login-names.ts'

/**
 * Under which keys an attempt is counted. Names, addresses, devices and handles stand in them as HMACs only.
 *
 *     gatehouse:limit:{<person>}                      every window of a day or less, as fields: `password:person:burst`, …
 *     gatehouse:limit:{<person>}:in_a_row             those of 30 days, apart: so little is kept so long
 *     gatehouse:known:{<person>}:<device and person>  in the same slot: the marks of the devices that know the person
 *     gatehouse:limit:{<address>}                     all of one address share another slot
 */
export interface Countings {
  /** By the person, who may be known here; undefined when there is no person to count by. */
  personal(attempt: Attempt, client: Client): PersonalCounting | undefined
  /** By the address; undefined where addresses have no limit. */
  local(attempt: Attempt, client: Client): LabelledCounting | undefined
  /** The Redis keys of which one exists if this device is known, by user id if given, else by login; the newest key first. */
  knownDeviceKeys(user: Pick<Attempt, 'userId' | 'login'>, client: Client): readonly string[]
  /** The marks and the failures in a row of a person under all names. */
  ofPerson(person: PersonNames, client: Client): readonly PersonKeys[]
  /**
   * All that is counted over every browser of a person, under all names and by every key. What is counted by browser or by
   * sign-in is not among it: nobody can say which those were.
   */
  overBrowsers(person: PersonNames): readonly PersonWindows[]
}

export interface LabelledCounting extends Counting {
  readonly windows: readonly LabelledWindow[]
  readonly instead?: { readonly ifThere: string; readonly windows: readonly LabelledWindow[] }
}

export interface LabelledWindow extends CountingWindow {
  /** For the metric and the audit log, such as `password_person`. */
  readonly label: string
}

export interface PersonalCounting extends LabelledCounting {
  /** The mark by which this browser is known to know the person. */
  readonly mark: string
  /** Where that lies if it was set before a rotation of keys. */
  readonly formerMarks: readonly string[]
}

export interface PersonNames {
  readonly userId: string
  /** As typed, and as the upstream writes it. */
  readonly logins: readonly string[]
}

export interface PersonKeys {
  readonly mark: string
  readonly place: string
  readonly inARow: readonly WindowName[]
}

export interface PersonWindows {
  readonly place: string
  readonly windows: readonly WindowName[]
}

export interface CountingsParts {
  readonly figures: GuessingFigures
  readonly names: Signer
  readonly logins: LoginNames
}

/** Whom an attempt is about. */
interface Person {
  /** Names the place in the store. */
  readonly counted: readonly string[]
  /** Whom a full sign-in under this name proves. Two users of two LOGIN_DOMAINS may share a place. */
  readonly proved: readonly string[]
  /** All whom it may be about: failures in a row count for each. */
  readonly meant: readonly (readonly string[])[]
}

export function createCountings({ figures, names, logins }: CountingsParts): Countings {
  const hmac = (...parts: string[]) => names.sign(JSON.stringify(parts))
  const same = (person: readonly string[]): Person => ({ counted: person, proved: person, meant: [person] })
  const byUserId = (userId: string) => same(['user', userId])
  const byLogin = (login: string): Person => ({
    counted: ['login', logins.canonical(login)],
    proved: ['login', logins.distinct(login)],
    meant: logins.meant(login).map((name) => ['login', name]),
  })

  const namedBy = ({ userId, login }: Pick<Attempt, 'userId' | 'login'>): Person | undefined => {
    if (userId !== undefined) return byUserId(userId)
    return login === undefined ? undefined : byLogin(login)
  }

  const personOf = ({ kind, userId, login, handle }: Attempt): Person | undefined => {
    // one count for one password, wherever it is guessed: primary authentication knows only the login
    if (kind === 'password' && login !== undefined) return byLogin(login)
    return namedBy({ userId, login }) ?? (handle === undefined ? undefined : same(['transaction', handle]))
  }

  /** Tells apart the users who share a place. */
  const idIn = ({ counted }: Person, user: readonly string[]) =>
    user.join() === counted.join() ? '' : hmac(...user)

  const windowName = (kind: string, scope: Scope, id: string, window: keyof Windows): WindowName => {
    const named = (shownId: string) =>
      [kind, SCOPE_LABELS[scope], ...(id === '' ? [] : [shownId]), window].join(':')
    return {
      keySuffix: window === 'inARow' ? ':in_a_row' : '',
      name: named(id.slice(0, ID_CHARS)),
      formerSuffix: `:${named(id)}`,
    }
  }

  /** The windows of one scope; `id` tells apart what shares a place, `rows` the failures in a row. */
  const windowsOf = (
    { kind }: Pick<Attempt, 'kind'>,
    scope: Scope,
    id = '',
    rows: readonly string[] = [id],
  ): LabelledWindow[] =>
    WINDOWS.flatMap((window) => {
      const limit = figures[kind][scope]?.[window]
      if (limit === undefined) return []
      const label = `${kind}_${SCOPE_LABELS[scope]}`
      return (window === 'inARow' ? rows : [id]).map((one) => ({
        ...countingWindow(windowName(kind, scope, one, window), limit),
        label,
      }))
    })

  const marked = ({ counted, proved }: Person, deviceId: string) => {
    const [personHmac, ...formerPeople] = names.signAll(JSON.stringify(counted))
    const [device, ...formerDevices] = names.signAll(JSON.stringify(['device', deviceId, ...proved]))
    const formerMarks = formerPeople.map((former, key) => markPlace(former, formerDevices[key] ?? ''))
    return { place: limitPlace(personHmac), device, mark: markPlace(personHmac, device), formerMarks }
  }

  /** The same person under each name, once. */
  const peopleOf = ({ userId, logins: typed }: PersonNames): Person[] => {
    const people = [byUserId(userId), ...typed.map(byLogin)]
    return [...new Map(people.map((person) => [JSON.stringify(person.proved), person])).values()]
  }

  return {
    personal(attempt, client) {
      const person = personOf(attempt)
      if (person === undefined) return undefined
      const { place, device, mark, formerMarks } = marked(person, client.device.id)
      const { handle } = attempt
      const known = idIn(person, person.proved)
      const rows = person.meant.map((user) => idIn(person, user))
      const perTransaction =
        handle === undefined ? [] : windowsOf(attempt, 'perTransaction', hmac('transaction', handle))
      return {
        place,
        mark,
        formerMarks,
        windows: [
          ...windowsOf(attempt, 'perPerson', '', rows),
          ...windowsOf(attempt, 'perDevice', hmac('device', client.device.id, ...person.counted)),
          ...perTransaction,
        ],
        instead: {
          ifThere: mark,
          windows: [
            ...windowsOf(attempt, 'perKnownDevice', device),
            ...windowsOf(attempt, 'perKnownPerson', known),
            ...perTransaction,
          ],
        },
      }
    },

    local(attempt, client) {
      const windows = windowsOf(attempt, 'perAddress')
      if (windows.length === 0) return undefined
      return { place: limitPlace(hmac('address', countedAddress(client.address))), windows }
    },

    knownDeviceKeys(user, client) {
      const named = namedBy(user)
      if (named === undefined) return []
      const { mark, formerMarks } = marked(named, client.device.id)
      return [mark, ...formerMarks]
    },

    ofPerson(person, client) {
      return peopleOf(person).map((one) => {
        const { place, device, mark } = marked(one, client.device.id)
        const proved = idIn(one, one.proved)
        const inARow = (['password', 'code'] as const).flatMap((kind) => [
          windowName(kind, 'perPerson', proved, 'inARow'),
          windowName(kind, 'perKnownDevice', device, 'inARow'),
          windowName(kind, 'perKnownPerson', proved, 'inARow'),
        ])
        return { mark, place, inARow }
      })
    },

    overBrowsers({ userId, logins: typed }) {
      // a name without its domain stands for the users of every domain, whose counts share a place in the store
      const withoutDomain = typed.map(logins.canonical).map(byLogin)
      return [byUserId(userId), ...withoutDomain].flatMap((person) => {
        const ids = [...new Set(['', ...person.meant.map((user) => idIn(person, user))])]
        const windows = ATTEMPT_KINDS.flatMap((kind) => [
          ...windowsOf({ kind }, 'perPerson', '', ids),
          ...ids.flatMap((id) => windowsOf({ kind }, 'perKnownPerson', id)),
        ])
        return names
          .signAll(JSON.stringify(person.counted))
          .map((place) => ({ place: limitPlace(place), windows }))
      })
    },
  }
}

/** Of an HMAC: 120 bits. Redis stores a hash compactly only while each field has 64 bytes or less. */
const ID_CHARS = 20

function markPlace(person: string, device: string): string {
  return `gatehouse:known:{${person}}:${device}`
}
