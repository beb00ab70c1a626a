import { AuthnError } from './authn-error.ts'

/**
 * The error as an org with a German brand words it (S6): codes and field names stay, summaries and
 * causes are German. The sentences are ours, not Okta's.
 */
export function inGerman(error: AuthnError): AuthnError {
  const { status, code, summary, causes, headers } = error
  return new AuthnError(status, code, SUMMARIES[code] ?? summary, causes?.map(translate) ?? null, headers)
}

const SUMMARIES: Readonly<Record<string, string>> = {
  E0000001: 'Die Anfrage ist ungültig.',
  E0000003: 'Der Inhalt der Anfrage hat nicht das richtige Format.',
  E0000004: 'Die Authentifizierung ist fehlgeschlagen.',
  E0000006: 'Sie sind zu dieser Aktion nicht berechtigt.',
  E0000007: 'Nicht gefunden.',
  E0000009: 'Interner Serverfehler',
  E0000011: 'Das angegebene Token ist ungültig.',
  E0000014: 'Die Anmeldedaten konnten nicht aktualisiert werden.',
  E0000032: 'Dieses Konto darf nicht entsperrt werden.',
  E0000034: 'Das Passwort darf für diesen Benutzer nicht zurückgesetzt werden.',
  E0000047: 'Zu viele Anfragen.',
  E0000064: 'Das Passwort ist abgelaufen und muss geändert werden.',
  E0000068: 'Der Code oder die Antwort ist ungültig.',
  E0000069: 'Der Benutzer ist gesperrt.',
  E0000079: 'Diese Operation ist im aktuellen Zustand nicht erlaubt.',
  E0000080: 'Das Passwort entspricht nicht der Passwortrichtlinie.',
  E0000082: 'Jeder Code gilt nur einmal. Warten Sie auf den nächsten.',
  E0000083: 'Der Code ist nicht mehr gültig.',
  E0000087: 'Die Antwort auf die Sicherheitsfrage ist falsch.',
  E0000095: 'Dieser Benutzer ist unbekannt.',
  E0000098: 'Diese Telefonnummer ist ungültig.',
  E0000109: 'Eine SMS wurde vor Kurzem gesendet. Bitte warten Sie 30 Sekunden.',
  E0000119: 'Ihr Konto ist gesperrt.',
  E0000133: 'Ein Anruf wurde vor Kurzem getätigt. Bitte warten Sie 30 Sekunden.',
  E0000207: 'Der Benutzername oder das Passwort ist falsch.',
  E0000240: 'Der Agent hat nicht rechtzeitig geantwortet.',
  E0000241: 'Kein Agent ist verbunden.',
  E0000259: 'Die Anmeldung ist nicht möglich. Setzen Sie Ihr Passwort zurück.',
}

const PHRASES: readonly (readonly [english: RegExp, german: string])[] = [
  [/^Old password is not correct$/, 'Das alte Passwort ist nicht richtig'],
  [/The credentials provided were incorrect\./, 'Die angegebenen Anmeldedaten sind falsch.'],
  [/Password requirements were not met\./, 'Die Passwortanforderungen sind nicht erfüllt.'],
  [/Password requirements:/, 'Passwortanforderungen:'],
  [/Passwords must have/, 'Ein Passwort muss enthalten:'],
  [/at least (\d+) characters/, 'mindestens $1 Zeichen'],
  [/a lowercase letter/, 'einen Kleinbuchstaben'],
  [/an uppercase letter/, 'einen Großbuchstaben'],
  [/a number/, 'eine Ziffer'],
  [/a symbol/, 'ein Sonderzeichen'],
  [/no parts of your username/, 'keinen Teil Ihres Benutzernamens'],
  [/Password cannot be your current password/, 'Das Passwort darf nicht Ihr aktuelles sein'],
  [
    /At least (\d+) (?:minute|hour|day)\(s\) must have elapsed since you last changed your password\./,
    'Seit der letzten Änderung muss mehr Zeit vergehen.',
  ],
  [/Password has been used too recently/, 'Das Passwort wurde vor zu kurzer Zeit verwendet'],
  [/The field cannot be left blank/, 'Das Feld darf nicht leer sein'],
  [/Your token doesn't match our records\. Please try again\./, 'Der Code stimmt nicht.'],
  [/^Your answer doesn't match our records\.$/, 'Die Antwort stimmt nicht.'],
]

function translate(cause: string): string {
  return PHRASES.reduce((text, [english, german]) => text.replace(english, german), cause)
}
