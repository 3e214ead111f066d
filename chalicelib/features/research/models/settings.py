"""Settings of the public sources of research."""

from pydantic import Field, ValidationInfo, field_validator

from chalicelib.kernel.core.settings import URL, SettingsSection


class ResearchSettings(SettingsSection):
    """Addresses, credentials and request rates of the public sources."""

    orcid_base_url: str = Field("https://pub.orcid.org", description="ORCID's public API.")
    openalex_base_url: str = Field("https://api.openalex.org", description="OpenAlex's API.")
    dblp_base_url: str = Field("https://dblp.org", description="DBLP's search of publications.")
    research_mailto: str = Field(
        "", description="Whom the three may write to about the requests they get; OpenAlex serves such ones first."
    )
    orcid_token: str = Field("", description="Token of ORCID's public API; it also answers without one.", repr=False)
    openalex_api_key: str = Field(
        "", description="Key of OpenAlex, which wants one of whoever asks for more than a few pages a day.", repr=False
    )
    orcid_rate: float = Field(8, gt=0, le=1000, description="Requests a second to ORCID, of all workers together.")
    openalex_rate: float = Field(8, gt=0, le=1000, description="Requests a second to OpenAlex, likewise.")
    dblp_rate: float = Field(0.5, gt=0, le=1000, description="Requests a second to DBLP, likewise.")

    @field_validator("orcid_base_url", "openalex_base_url", "dblp_base_url")
    @classmethod
    def _is_a_sources_place(cls, value: str, info: ValidationInfo) -> str:
        schemes = ("https",) if info.data.get("stage") != "local" else ("https", "http")
        if not (URL.match(value) and value.partition(":")[0] in schemes):
            raise ValueError("must be an https URL such as https://api.example.org")
        return value.rstrip("/")
