"""Settings of the public sources of research."""

from pydantic import Field, ValidationInfo, field_validator

from chalicelib.kernel.core.settings import URL_PREFIX, SettingsSection


class ResearchSettings(SettingsSection):
    """Base URLs, credentials and request rates of the public sources."""

    orcid_base_url: str = Field("https://pub.orcid.org", description="ORCID's public API.")
    openalex_base_url: str = Field("https://api.openalex.org", description="OpenAlex's API.")
    dblp_base_url: str = Field("https://dblp.org", description="DBLP's search of publications.")
    research_mailto: str = Field(
        "", description="Contact address sent with requests to the sources. OpenAlex prioritizes requests with one."
    )
    orcid_token: str = Field("", description="Token of ORCID's public API. It is optional.", repr=False)
    openalex_api_key: str = Field(
        "", description="Key of OpenAlex, which requires one for more than a few pages a day.", repr=False
    )
    orcid_rate: float = Field(8, gt=0, le=1000, description="Requests per second to ORCID from all workers together.")
    openalex_rate: float = Field(
        8, gt=0, le=1000, description="Requests per second to OpenAlex from all workers together."
    )
    dblp_rate: float = Field(0.5, gt=0, le=1000, description="Requests per second to DBLP from all workers together.")

    @field_validator("orcid_base_url", "openalex_base_url", "dblp_base_url")
    @classmethod
    def _validate_source_url(cls, value: str, info: ValidationInfo) -> str:
        schemes = ("https",) if info.data.get("stage") != "local" else ("https", "http")
        if not (URL_PREFIX.match(value) and value.partition(":")[0] in schemes):
            raise ValueError("must be an https URL such as https://api.example.org")
        return value.rstrip("/")
