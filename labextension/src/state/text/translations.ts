/** The functions that translate a text; views know them as `IWords`. */
export interface ITranslations {
  __(text: string, ...values: (string | number)[]): string;
  _n(
    singular: string,
    plural: string,
    n: number,
    ...values: (string | number)[]
  ): string;
}
