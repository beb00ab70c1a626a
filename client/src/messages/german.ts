import type { MessageName } from './actions.ts'

/** The title and the text of each message. */
export const GERMAN: Readonly<Record<MessageName, readonly [title: string, text: string]>> = {
  offline: ['Keine Verbindung', 'Das Portal ist nicht erreichbar. Sind Sie online?'],
  unknown: [
    'Etwas ist schiefgegangen',
    'Bitte versuchen Sie es noch einmal. Hilft das nicht, wenden Sie sich an Ihren Helpdesk.',
  ],
  E0000001: ['Bitte prüfen Sie Ihre Eingabe', 'Eines der Felder ist nicht richtig ausgefüllt.'],
  E0000003: [
    'Etwas ist schiefgegangen',
    'Diese Seite hat eine ungültige Anfrage gesendet. Wenden Sie sich an Ihren Helpdesk.',
  ],
  E0000004: [
    'Anmeldung fehlgeschlagen',
    'Benutzername oder Passwort ist falsch. Bitte versuchen Sie es noch einmal.',
  ],
  E0000005: ['Sie sind abgemeldet', 'Bitte melden Sie sich wieder an.'],
  E0000006: ['Nicht erlaubt', 'Dafür haben Sie keine Berechtigung.'],
  'E0000006 other user': [
    'Jemand anderes ist angemeldet',
    'In diesem Browser ist jemand anderes angemeldet. Melden Sie sich zuerst ab, und versuchen Sie es dann noch einmal.',
  ],
  'E0000006 other session': [
    'Sie haben sich neu angemeldet',
    'Sie haben sich in einem anderen Tab neu angemeldet. Laden Sie diese Seite neu.',
  ],
  E0000007: ['Nicht gefunden', 'Diese Seite hat etwas angefragt, das es nicht gibt.'],
  E0000009: ['Bitte noch einmal versuchen', 'Der Anmeldedienst ist gerade nicht verfügbar.'],
  'E0000009 step in progress': [
    'Einen Moment',
    'Ihr letzter Schritt wird noch verarbeitet. Bitte versuchen Sie es noch einmal.',
  ],
  E0000011: ['Bitte von vorn beginnen', 'Das hat zu lange gedauert, oder der Link wurde schon benutzt.'],
  'E0000011 no cookie': [
    'Cookies sind blockiert',
    'Ihr Browser hat unser Cookie nicht zurückgesendet. Bitte erlauben Sie Cookies für diese Seite.',
  ],
  E0000014: ['Bitte ein anderes Passwort wählen', 'Dieses Passwort entspricht nicht den Regeln.'],
  'E0000014 old password': [
    'Bitte prüfen Sie Ihr aktuelles Passwort',
    'Ihr aktuelles Passwort ist nicht richtig.',
  ],
  'E0000014 used before': [
    'Bitte ein anderes Passwort wählen',
    'Dieses Passwort haben Sie schon einmal verwendet.',
  ],
  'E0000014 too new': [
    'Ihr Passwort ist zu neu',
    'Es wurde vor Kurzem geändert und kann noch nicht wieder geändert werden.',
  ],
  'E0000014 common': [
    'Bitte ein anderes Passwort wählen',
    'Viele Menschen verwenden dieses Passwort. Deshalb ist es leicht zu erraten.',
  ],
  E0000021: [
    'Etwas ist schiefgegangen',
    'Diese Seite hat eine ungültige Anfrage gesendet. Wenden Sie sich an Ihren Helpdesk.',
  ],
  E0000022: [
    'Etwas ist schiefgegangen',
    'Diese Seite hat eine ungültige Anfrage gesendet. Wenden Sie sich an Ihren Helpdesk.',
  ],
  E0000032: [
    'Nicht möglich',
    'Ihr Konto kann hier nicht entsperrt werden. Wenden Sie sich an Ihren Helpdesk.',
  ],
  E0000034: [
    'Nicht möglich',
    'Ihr Passwort kann hier nicht zurückgesetzt werden. Wenden Sie sich an Ihren Helpdesk.',
  ],
  E0000047: ['Zu viele Versuche', 'Bitte warten Sie, bevor Sie es noch einmal versuchen.'],
  E0000068: ['Das stimmt nicht', 'Der Code oder die Antwort ist falsch. Bitte versuchen Sie es noch einmal.'],
  E0000069: [
    'Zu viele Fehlversuche',
    'Dieser Faktor ist vorerst gesperrt. Verwenden Sie einen anderen, oder wenden Sie sich an Ihren Helpdesk.',
  ],
  E0000079: ['Bitte von vorn beginnen', 'Dieser Schritt ist jetzt nicht möglich.'],
  E0000082: ['Bitte auf den nächsten Code warten', 'Jeder Code gilt nur einmal. Geben Sie den nächsten ein.'],
  E0000083: ['Code abgelaufen', 'Dieser Code ist zu alt. Geben Sie den aktuellen ein.'],
  E0000087: ['Das stimmt nicht', 'Die Antwort ist falsch. Bitte versuchen Sie es noch einmal.'],
  E0000095: [
    'Nicht möglich',
    'Dieses Konto kann hier nicht wiederhergestellt werden. Wenden Sie sich an Ihren Helpdesk.',
  ],
  E0000098: ['Bitte prüfen Sie die Telefonnummer', 'Geben Sie sie mit + und der Ländervorwahl ein.'],
  E0000109: [
    'Nachricht gesendet',
    'Sie haben gerade eine SMS erhalten. Es kann einen Moment dauern, bis sie ankommt.',
  ],
  E0000119: ['Ihr Konto ist gesperrt', 'Wenden Sie sich an Ihren Helpdesk.'],
  E0000122: [
    'Etwas ist schiefgegangen',
    'Diese Seite hat eine ungültige Anfrage gesendet. Wenden Sie sich an Ihren Helpdesk.',
  ],
  E0000133: [
    'Anruf erfolgt',
    'Sie wurden gerade angerufen. Bitte warten Sie, bevor Sie einen weiteren Anruf anfordern.',
  ],
  pam_bad_request: [
    'Gruppen nicht verfügbar',
    'Ihre Gruppen konnten nicht gelesen werden. Wenden Sie sich an Ihren Helpdesk.',
  ],
  pam_credentials: [
    'Gruppen nicht verfügbar',
    'Ihre Gruppen konnten nicht gelesen werden. Wenden Sie sich an Ihren Helpdesk.',
  ],
  pam_deprecated: [
    'Gruppen nicht verfügbar',
    'Ihre Gruppen konnten nicht gelesen werden. Wenden Sie sich an Ihren Helpdesk.',
  ],
  pam_misconfigured: [
    'Gruppen nicht verfügbar',
    'Ihre Gruppen konnten nicht gelesen werden. Wenden Sie sich an Ihren Helpdesk.',
  ],
  pam_not_permitted: [
    'Gruppen nicht verfügbar',
    'Ihre Gruppen konnten nicht gelesen werden. Wenden Sie sich an Ihren Helpdesk.',
  ],
  pam_quota: [
    'Gruppen nicht verfügbar',
    'Ihre Gruppen konnten nicht gelesen werden. Wenden Sie sich an Ihren Helpdesk.',
  ],
  pam_rate_limited: [
    'Gruppen nicht verfügbar',
    'Ihre Gruppen können gerade nicht gelesen werden. Bitte versuchen Sie es noch einmal.',
  ],
  pam_team_disabled: [
    'Gruppen nicht verfügbar',
    'Der privilegierte Zugriff ist für Ihre Organisation abgeschaltet.',
  ],
  pam_timeout: [
    'Gruppen nicht verfügbar',
    'Ihre Gruppen können gerade nicht gelesen werden. Bitte versuchen Sie es noch einmal.',
  ],
  pam_unavailable: [
    'Gruppen nicht verfügbar',
    'Ihre Gruppen können gerade nicht gelesen werden. Bitte versuchen Sie es noch einmal.',
  ],
  pam_unexpected: [
    'Gruppen nicht verfügbar',
    'Ihre Gruppen konnten nicht gelesen werden. Wenden Sie sich an Ihren Helpdesk.',
  ],
  pam_user_unknown: ['Kein privilegierter Zugriff', 'Sie haben kein Konto für den privilegierten Zugriff.'],
  REJECTED: ['Abgelehnt', 'Die Anfrage wurde auf Ihrem Telefon abgelehnt.'],
  TIMEOUT: ['Keine Antwort', 'Die Anfrage wurde nicht rechtzeitig beantwortet.'],
  CANCELLED: ['Abgebrochen', 'Die Anfrage wurde abgebrochen.'],
  ERROR: ['Nicht zugestellt', 'Die Anfrage konnte nicht zugestellt werden.'],
  FAILED: ['Anmeldung fehlgeschlagen', 'Der andere Identitätsanbieter hat Sie nicht angemeldet.'],
  PASSCODE_REPLAYED: [
    'Bitte auf den nächsten Code warten',
    'Jeder Code gilt nur einmal. Geben Sie den nächsten ein.',
  ],
  TIME_WINDOW_EXCEEDED: ['Code abgelaufen', 'Dieser Code ist zu alt. Geben Sie den aktuellen ein.'],
}
