/**
 * What texts are translated by; the interface of views/host is this one, which state does not know.
 */

export interface ITranslations {
  __(text: string, ...values: (string | number)[]): string;
  _n(
    one: string,
    many: string,
    n: number,
    ...values: (string | number)[]
  ): string;
}
